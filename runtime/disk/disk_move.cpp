#include "runtime/disk/disk_move.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>

#include "runtime/disk/tree.hpp"
#include "runtime/host/alloc_dir.hpp"

namespace nomad::disk {

namespace {

constexpr mode_t for_all = 0777;

/// Takes `name` out of one directory into the other.
Result<> move_directory(int from, int to, const std::string& name) {
  const auto there = open_directory(from, name.c_str());
  if (!there) {
    if (errno == ENOENT) return {};
    return errno_error("opening " + name, errno);
  }
  NOMAD_TRY(host::remove_tree(to, name));
  if (::renameat(from, name.c_str(), to, name.c_str()) != 0)
    return errno_error("moving " + name, errno);
  return {};
}

Result<host::UniqueFd> open_root(const std::string& path) {
  auto root = open_directory(AT_FDCWD, path.c_str());
  if (!root) return errno_error("opening " + path, errno);
  return root;
}

Result<> move_task(int from, int to, const std::string& task) {
  NOMAD_TRY(host::check_task_name(task));
  const auto before = open_directory(from, task.c_str());
  if (!before) {
    if (errno == ENOENT) return {};
    return errno_error("opening " + task, errno);
  }
  const auto now = NOMAD_TRY(make_directory(to, task, for_all));
  return move_directory(before.get(), now.get(), "local").within(task);
}

}  // namespace

Result<> move_disk(const std::string& from,
                   const std::string& to,
                   const std::vector<std::string>& tasks) {
  const auto before = NOMAD_TRY(open_root(from));
  const auto now = NOMAD_TRY(open_root(to));
  if (const auto shared = open_directory(before.get(), "alloc")) {
    const auto own = NOMAD_TRY(make_directory(now.get(), "alloc", for_all));
    NOMAD_TRY(move_directory(shared.get(), own.get(), "data").within(from));
  }
  for (const auto& task : tasks)
    NOMAD_TRY(move_task(before.get(), now.get(), task).within(from));
  return {};
}

bool is_in_use(const std::string& root, const std::vector<std::string>& tasks) {
  const host::AllocDir dir{root};
  for (const auto& task : tasks) {
    struct stat status {};

    if (::lstat(dir.secrets(task).c_str(), &status) == 0) return true;
  }
  return false;
}

}  // namespace nomad::disk
