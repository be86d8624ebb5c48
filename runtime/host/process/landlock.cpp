#include "runtime/host/process/landlock.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nomad::host {
namespace {

// Of kernels that are newer than the header may be.
constexpr std::uint64_t access_refer = 1ULL << 13;
constexpr std::uint64_t access_truncate = 1ULL << 14;
constexpr std::uint64_t access_ioctl_dev = 1ULL << 15;
constexpr std::uint64_t scope_abstract_sockets = 1ULL << 0;
constexpr std::uint64_t scope_signals = 1ULL << 1;

/// struct landlock_ruleset_attr, with what came later.
struct RulesetAttributes {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scoped;
};

constexpr std::uint64_t read_files = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t read_only = read_files | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t of_files = read_files | LANDLOCK_ACCESS_FS_EXECUTE
                                   | LANDLOCK_ACCESS_FS_WRITE_FILE | access_truncate
                                   | access_ioctl_dev;

std::uint64_t rights_of(Landlock::Access access) {
  switch (access) {
    case Landlock::Access::read:
      return read_only;
    case Landlock::Access::read_and_run:
      return read_only | LANDLOCK_ACCESS_FS_EXECUTE;
    case Landlock::Access::write_file:
      return read_files | LANDLOCK_ACCESS_FS_WRITE_FILE;
    case Landlock::Access::own:  // Nothing of what is fetched is run, and no devices are made.
      return read_only | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR
             | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR
             | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM | access_refer
             | access_truncate;
  }
  return 0;
}

}  // namespace

int Landlock::version() {
  const auto version
      = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

Result<Landlock> Landlock::make() {
  const int known = version();
  RulesetAttributes attributes{};
  attributes.files = (1ULL << 13) - 1;
  if (known >= 2) attributes.files |= access_refer;
  if (known >= 3) attributes.files |= access_truncate;
  if (known >= 5) attributes.files |= access_ioctl_dev;
  if (known >= 6) attributes.scoped = scope_abstract_sockets | scope_signals;
  const std::size_t size = known >= 6 ? sizeof attributes : sizeof attributes.files;
  UniqueFd rules{static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0))};
  if (!rules) return errno_error("making Landlock's rules", errno);
  return Landlock{std::move(rules), attributes.files};
}

Result<> Landlock::allow(const std::string& path, Access access) const {
  const UniqueFd location{::open(path.c_str(), O_PATH | O_CLOEXEC)};
  if (!location) return {};
  return allow(location.get(), access).within(path);
}

Result<> Landlock::allow(int descriptor, Access access) const {
  struct stat status {};

  if (::fstat(descriptor, &status) != 0) return errno_error("looking at a file", errno);
  auto rights = rights_of(access) & handled_;
  if (!S_ISDIR(status.st_mode)) rights &= of_files;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = descriptor;
  if (::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return errno_error("adding a rule of Landlock", errno);
  return {};
}

Result<> Landlock::allow_system() const {
  using enum Access;
  for (const char* path :
       {"/lib", "/lib32", "/lib64", "/libx32", "/bin", "/usr/lib", "/usr/lib32", "/usr/lib64",
        "/usr/libx32", "/usr/libexec", "/usr/bin", "/usr/local/bin", "/usr/local/lib"})
    NOMAD_TRY(allow(path, read_and_run));
  // Of programs: templates of git, certificates, name services, ssh, git's and hg's own settings.
  for (const char* path : {"/usr/share",
                           "/usr/local/share",
                           "/etc/ssl",
                           "/etc/pki",
                           "/etc/ca-certificates",
                           "/etc/crypto-policies",
                           "/etc/resolv.conf",
                           "/etc/hosts",
                           "/etc/host.conf",
                           "/etc/gai.conf",
                           "/etc/nsswitch.conf",
                           "/etc/services",
                           "/etc/protocols",
                           "/etc/passwd",
                           "/etc/group",
                           "/etc/localtime",
                           "/etc/ld.so.cache",
                           "/etc/ssh/ssh_known_hosts",
                           "/etc/ssh/ssh_config",
                           "/etc/ssh/ssh_config.d",
                           "/etc/gitconfig",
                           "/etc/mercurial",
                           "/dev/urandom",
                           "/dev/random",
                           "/dev/zero"})
    NOMAD_TRY(allow(path, read));
  NOMAD_TRY(allow("/dev/null", write_file));
  if (const char* const path = std::getenv("PATH"); path != nullptr)
    for (std::string_view rest{path}; !rest.empty();) {
      const auto directory = rest.substr(0, rest.find(':'));
      if (directory.starts_with('/') && directory.size() > 1)
        NOMAD_TRY(allow(std::string{directory}, read_and_run));
      rest.remove_prefix(std::min(directory.size() + 1, rest.size()));
    }
  return {};
}

Result<> Landlock::restrict_self() const {
  if (::syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0)
    return errno_error("keeping to Landlock's rules", errno);
  return {};
}

}  // namespace nomad::host
