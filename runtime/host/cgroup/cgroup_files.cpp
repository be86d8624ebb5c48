#include "runtime/host/cgroup/cgroup_files.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/log.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

bool is_directory(const std::string& path) {
  struct stat status {};

  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<> make_group(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return errno_error("making the cgroup " + path, errno);
  return {};
}

Result<> write_group_file(const std::string& path, std::string_view text) {
  UniqueFd file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (!file || ::write(file.get(), text.data(), text.size()) < 0)
    return errno_error("writing " + path, errno);
  return {};
}

void hand_down(const std::string& group) {
  for (std::string_view controller : {"cpuset", "cpu", "io", "memory", "pids"}) {
    UniqueFd file{::open((group + "/cgroup.subtree_control").c_str(), O_WRONLY | O_CLOEXEC)};
    std::string order = "+" + std::string{controller};
    if (file && ::write(file.get(), order.data(), order.size()) < 0)
      log::debug("client.cgroup", "a controller is not available",
                 {{"path", group}, {"controller", controller}});
  }
}

}  // namespace nomad::host
