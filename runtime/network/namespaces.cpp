#include "runtime/network/namespaces.hpp"

#include <cstring>
#include <thread>

#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <sched.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::network {
namespace {

using host::UniqueFd;

/// A mount of its own that others get, too: namespaces are seen by who has mounted the directory.
Result<> share(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
    return errno_error("making " + directory, errno);
  constexpr unsigned long shared = MS_SHARED | MS_REC;
  if (::mount("", directory.c_str(), "none", shared, nullptr) == 0) return {};
  if (errno != EINVAL) return errno_error("sharing " + directory, errno);
  if (::mount(directory.c_str(), directory.c_str(), "none", MS_BIND | MS_REC, nullptr) != 0)
    return errno_error("mounting " + directory, errno);
  if (::mount("", directory.c_str(), "none", shared, nullptr) != 0)
    return errno_error("sharing " + directory, errno);
  return {};
}

Result<> raise_loopback() {
  const UniqueFd any{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  if (!any || ::ioctl(any.get(), SIOCGIFFLAGS, &request) != 0)
    return errno_error("reading the loopback interface", errno);
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(any.get(), SIOCSIFFLAGS, &request) != 0)
    return errno_error("raising the loopback interface", errno);
  return {};
}

/// In a thread that ends afterwards: it never comes back to the namespace that it was in.
Result<> make_in_this_thread(const std::string& path) {
  if (::unshare(CLONE_NEWNET) != 0)
    return errno_error("making a network namespace", errno,
                       errno == EPERM ? Errc::permission_denied : Errc::io);
  NOMAD_TRY(raise_loopback());
  if (::mount("/proc/thread-self/ns/net", path.c_str(), "none", MS_BIND, nullptr) != 0)
    return errno_error("keeping a network namespace as " + path, errno);
  return {};
}

}  // namespace

bool Namespaces::exists(const std::string& name) const {
  struct statfs of {};

  return ::statfs(path(name).c_str(), &of) == 0
         && static_cast<unsigned long>(of.f_type) == NSFS_MAGIC;
}

Result<> Namespaces::make(const std::string& name) const {
  NOMAD_TRY(share(directory_));
  if (exists(name))
    return Error{Errc::conflict, "there is a network namespace at " + path(name) + " already"};
  const auto where = path(name);
  // One that is no namespace is left of somebody who died before he mounted it.
  const UniqueFd location{::open(where.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0444)};
  if (!location) return errno_error("making " + where, errno);
  Result<> outcome;
  std::thread{[&where, &outcome] { outcome = make_in_this_thread(where); }}.join();
  if (!outcome) ::unlink(where.c_str());
  return outcome;
}

Result<> Namespaces::remove(const std::string& name) const {
  const auto where = path(name);
  while (exists(name))
    if (::umount2(where.c_str(), MNT_DETACH) != 0) return errno_error("unmounting " + where, errno);
  if (::unlink(where.c_str()) != 0 && errno != ENOENT)
    return errno_error("removing " + where, errno);
  return {};
}

}  // namespace nomad::network
