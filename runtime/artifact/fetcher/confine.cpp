#include "runtime/artifact/fetcher/confine.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sched.h>

#include "runtime/host/process/landlock.hpp"
#include "runtime/host/process/privileges.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {
namespace {

constexpr rlim_t most_files = 512;
#ifdef __SANITIZE_ADDRESS__
constexpr rlim_t most_memory = RLIM_INFINITY;  // a sanitizer's shadow counts as data
#else
constexpr rlim_t most_memory = rlim_t{2} << 30U;  // bytes of data: git's, and xz's dictionaries
#endif

Result<> check(int outcome, std::string_view what) {
  if (outcome != 0) return errno_error(std::string{what}, errno);
  return {};
}

/// The working directory is found at /tmp, whoever may not pass the directories above it, and the
/// host's /tmp is not seen.
Result<bool> move_to_tmp() {
  if (::geteuid() != 0) return false;
  // Taken before the namespaces part: what lies in another one can't be mounted.
  const host::UniqueFd own{
      ::open_tree(directory_descriptor, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)};
  if (!own || ::unshare(CLONE_NEWNS) != 0) return false;
  NOMAD_TRY(check(::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr),
                  "parting from the host's mounts"));
  NOMAD_TRY(check(::move_mount(own.get(), "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH),
                  "mounting /tmp"));
  NOMAD_TRY(
      check(::mount("", "/tmp", nullptr, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV, nullptr),
            "mounting /tmp anew"));
  NOMAD_TRY(check(::chdir("/tmp"), "entering /tmp"));
  return true;
}

Result<> limit_resources() {
  const std::array<std::pair<__rlimit_resource_t, rlim_t>, 3> limits{
      {{RLIMIT_CORE, 0}, {RLIMIT_NOFILE, most_files}, {RLIMIT_DATA, most_memory}}};
  for (const auto& [resource, most] : limits) {
    rlimit limit{};
    NOMAD_TRY(check(::getrlimit(resource, &limit), "reading a limit"));
    limit.rlim_cur = limit.rlim_max = std::min(most, limit.rlim_max);
    NOMAD_TRY(check(::setrlimit(resource, &limit), "setting a limit"));
  }
  return {};
}

Result<> keep_to_files() {
  const auto rules = NOMAD_TRY(host::Landlock::make());
  NOMAD_TRY(rules.allow(directory_descriptor, host::Landlock::Access::own));
  NOMAD_TRY(rules.allow_system());
  return rules.restrict_self();
}

Result<> drop_privileges(const Confinement& confinement) {
  host::drop_bounding_set();
  if (::geteuid() == 0) NOMAD_TRY(host::become({.uid = confinement.uid, .gid = confinement.gid}));
  return host::drop_capabilities();
}

/// What programs keep beside their work lies in the working directory, unless the agent's
/// configuration lets a HOME in.
Result<> settle_in() {
  if (::mkdir("work", 0700) != 0 && errno != EEXIST)
    return errno_error("making a directory for work", errno);
  std::array<char, PATH_MAX> here;
  if (::getcwd(here.data(), here.size()) == nullptr)
    return errno_error("looking for the working directory", errno);
  const auto work = std::string{here.data()} + "/work";
  ::setenv("TMPDIR", work.c_str(), 1);
  ::setenv("HOME", work.c_str(), 0);
  return {};
}

}  // namespace

Result<> confine(const Confinement& confinement, const Reporter& reporter) {
  if (!confinement.files || !NOMAD_TRY(move_to_tmp()))
    NOMAD_TRY(check(::fchdir(directory_descriptor), "entering the working directory"));
  NOMAD_TRY(limit_resources());
  NOMAD_TRY(host::forbid_new_privileges());
  if (confinement.files) {
    if (host::Landlock::version() > 0)
      NOMAD_TRY(keep_to_files());
    else
      reporter.warn(
          "the kernel has no Landlock: files of the host that everybody may read can be "
          "read while artifacts are fetched");
  }
  NOMAD_TRY(drop_privileges(confinement));
  // After the user has changed, for that unsets it. The agent may have died before.
  NOMAD_TRY(check(::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "following the agent's end"));
  NOMAD_TRY(settle_in());
  return host::filter_calls(confinement.call_filter);
}

}  // namespace nomad::artifact
