#include "runtime/host/alloc_dir.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>

#include "runtime/base/log.hpp"
#include "runtime/host/users.hpp"

namespace nomad::host {

namespace {

constexpr mode_t for_all = 0777;
constexpr mode_t for_all_sticky = 01777;
constexpr mode_t for_owner = 0700;
constexpr mode_t for_owner_and_passers = 0711;

constexpr FileOwner root_owner{.user = 0, .group = 0};

/// Whose a directory is, where that can be set, and who may do what there.
struct DirectoryAccess {
  mode_t mode = 0;
  FileOwner owner{};
};

// Makes `name` in `parent`, whoever it was before. What is already there must be a directory, not a
// link to one: a task may have put it there.
Result<UniqueFd> make_directory(int parent,
                                const std::string& name,
                                const DirectoryAccess& access) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST)
    return errno_error("making the directory " + name, errno);
  UniqueFd directory{
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!directory) return errno_error("making the directory " + name, errno, Errc::conflict);
  constexpr auto unchanged = static_cast<uid_t>(-1);
  if (::geteuid() == 0
      && ::fchown(directory.get(), access.owner.user.value_or(unchanged),
                  access.owner.group.value_or(unchanged))
             != 0)
    return errno_error("changing the owner of " + name, errno);
  if (::fchmod(directory.get(), access.mode) != 0)
    return errno_error("changing the mode of " + name, errno);
  return directory;
}

/// For whoever a task runs as: everybody.
Result<DirectoryAccess> shared_access(mode_t mode) {
  if (::geteuid() != 0) return DirectoryAccess{mode};
  const auto nobody = NOMAD_TRY(find_user("nobody"));
  return DirectoryAccess{mode, {.user = nobody.uid, .group = nobody.gid}};
}

Result<UniqueFd> make_shared(int parent, const std::string& name, mode_t mode) {
  return make_directory(parent, name, NOMAD_TRY(shared_access(mode)));
}

/// The task's user's alone. Where he is not known, or can't be made the owner, everybody may write
/// there, and nobody takes away what is another's.
DirectoryAccess secret_access(const SecretsFor& whom) {
  const bool is_root = ::geteuid() == 0;
  const auto user = whom.owner.user;
  if (!user || (!is_root && *user != ::geteuid())) return {for_all_sticky, root_owner};
  return {whom.others_have_files ? for_owner_and_passers : for_owner, whom.owner};
}

bool is_mount_point(int parent, const std::string& name) {
  struct stat inner {
  }, outer{};

  return ::fstatat(parent, name.c_str(), &inner, AT_SYMLINK_NOFOLLOW) == 0
         && ::fstat(parent, &outer) == 0 && S_ISDIR(inner.st_mode) && inner.st_dev != outer.st_dev;
}

// A tmpfs over the directory, unless there is one. What is not permitted is left plain.
void mount_tmpfs(int parent, const std::string& name) {
  if (::geteuid() != 0 || is_mount_point(parent, name)) return;
  std::string path = "/proc/self/fd/" + std::to_string(parent) + '/' + name;
  if (::mount("tmpfs", path.c_str(), "tmpfs", MS_NOEXEC | MS_NOSUID | MS_NODEV, "size=1m,mode=0700")
      != 0) {
    log::warn("client.alloc_dir", "secrets are kept on disk: no tmpfs could be mounted",
              {{"path", name}, {"error", std::strerror(errno)}});
  }
}

Result<> make_secret_directory(int task,
                               const std::string& name,
                               const DirectoryAccess& access,
                               bool tmpfs) {
  // First plain, so that a mount has something to stand on; then again for what was mounted.
  for (int pass = 0; pass < (tmpfs ? 2 : 1); ++pass) {
    NOMAD_TRY(make_directory(task, name, access));
    if (tmpfs && pass == 0) mount_tmpfs(task, name);
  }
  return {};
}

UniqueFd open_directory(int parent, const char* name) {
  return UniqueFd{::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

/// Names of a directory that are held at a time: a task may have made any number of them.
constexpr std::size_t most_names = 10'000;

std::vector<std::string> entries_of(int directory) {
  std::vector<std::string> names;
  int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return names;
  DIR* entries = ::fdopendir(copy);
  if (entries == nullptr) {
    ::close(copy);
    return names;
  }
  for (const dirent* entry = nullptr;
       names.size() < most_names && (entry = ::readdir(entries)) != nullptr;) {
    std::string name{entry->d_name};
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  ::closedir(entries);
  return names;
}

// Removes trees without following links. A directory deeper than `deepest` is first moved up to
// the top: a task can nest as deep as it likes, we neither recurse nor keep descriptors so deep.
class Remover {
public:
  Remover(int top, dev_t device) : top_(top), device_(device) {}

  /// Whether it is gone.
  bool remove(int parent, const std::string& name, int depth) {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR && errno != EPERM) return keep("removing " + name, errno);

    struct stat status {};

    UniqueFd directory = open_directory(parent, name.c_str());
    if (!directory || ::fstat(directory.get(), &status) != 0) return keep("opening " + name, errno);
    if (status.st_dev != device_) {
      if (!failure_.has_error())
        failure_ = Error{Errc::conflict, "removing " + name + ": something is mounted on it"};
      return false;
    }
    for (bool more = true; more;) {
      const auto entries = entries_of(directory.get());
      bool any_gone = false;
      for (const std::string& entry : entries) {
        const bool is_moved = depth >= deepest && move_up(directory.get(), entry);
        any_gone |= is_moved || remove(directory.get(), entry, depth + 1);
      }
      // What could not be removed comes again, before others or behind them.
      more = entries.size() == most_names && any_gone;
    }
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    return keep("removing " + name, errno);
  }

  Result<> outcome() const { return failure_; }

private:
  static constexpr int deepest = 64;

  // A directory that was moved is found when its new parent, the top, is listed again.
  bool move_up(int parent, const std::string& name) {
    struct stat status {};

    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0
        || !S_ISDIR(status.st_mode))
      return false;
    std::string moved = ".nomadctl-removed-" + std::to_string(++moved_);
    return ::renameat(parent, name.c_str(), top_, moved.c_str()) == 0;
  }

  bool keep(const std::string& attempt, int error_number) {
    if (!failure_.has_error()) failure_ = errno_error(attempt, error_number);
    return false;
  }

  int top_;
  dev_t device_;
  std::uint64_t moved_ = 0;
  Result<> failure_;
};

}  // namespace

Result<> check_task_name(std::string_view name) {
  constexpr std::size_t longest = 255;
  if (name.empty() || name == "." || name == ".." || name == "alloc" || name.size() > longest
      || name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos)
    return Error{Errc::invalid_argument,
                 "task name \"" + std::string{name} + "\" cannot name a directory"};
  return {};
}

bool AllocDir::exists() const {
  struct stat status {};

  return ::stat(logs().c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<> AllocDir::build() const {
  for (std::size_t at = 0; at != std::string::npos;) {
    at = root_.find('/', at + 1);
    std::string part = root_.substr(0, at);
    const bool is_new = ::mkdir(part.c_str(), 0755) == 0;
    if (!is_new && errno != EEXIST) return errno_error("making the directory " + part, errno);
    // Tasks of other users pass through, whatever the umask is.
    if (is_new && ::chmod(part.c_str(), 0755) != 0)
      return errno_error("changing the mode of " + part, errno);
  }
  UniqueFd root{::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return errno_error("making the directory " + root_, errno, Errc::conflict);
  auto shared = NOMAD_TRY(make_shared(root.get(), "alloc", for_all).within(root_));
  for (const char* name : {"data", "logs", "tmp"}) {
    NOMAD_TRY(make_shared(shared.get(), name, for_all).within(root_));
  }
  return {};
}

Result<> AllocDir::build_task(std::string_view name, bool tmpfs, const SecretsFor& whom) const {
  NOMAD_TRY(check_task_name(name));
  UniqueFd root{::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return errno_error("opening " + root_, errno, Errc::not_found);
  const std::string folder{name};
  auto task = NOMAD_TRY(make_shared(root.get(), folder, for_all).within(root_));
  for (auto [directory, mode] : {std::pair{"local", for_all}, std::pair{"tmp", for_all_sticky}}) {
    NOMAD_TRY(make_shared(task.get(), directory, mode).within(root_));
  }
  for (const auto& [directory, access] :
       {std::pair{"secrets", secret_access(whom)},
        std::pair{"private", DirectoryAccess{for_owner, root_owner}}})
    NOMAD_TRY(make_secret_directory(task.get(), directory, access, tmpfs).within(root_));
  // What is mounted can't be moved; a plain directory could be, and another put in its place.
  if (!is_mount_point(task.get(), "secrets"))
    NOMAD_TRY(make_directory(root.get(), folder, {for_all_sticky, root_owner}).within(root_));
  return {};
}

Result<> AllocDir::forget_secrets() const {
  const UniqueFd root{::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!root) {
    if (errno == ENOENT) return {};
    return errno_error("opening " + root_, errno);
  }
  for (const std::string& name : entries_of(root.get())) {
    UniqueFd task = open_directory(root.get(), name.c_str());
    if (!task || name == "alloc") continue;
    for (const char* directory : {"secrets", "private"}) {
      // Several may lie on top of each other. One that is in use is detached: it goes with its
      // user.
      while (is_mount_point(task.get(), directory)) {
        std::string path = "/proc/self/fd/" + std::to_string(task.get()) + '/' + directory;
        if (::umount2(path.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH) != 0)
          return errno_error("unmounting " + root_ + '/' + name + '/' + directory, errno);
      }
    }
  }
  return {};
}

Result<> AllocDir::destroy() const {
  NOMAD_TRY(forget_secrets());
  std::size_t slash = root_.rfind('/');
  UniqueFd parent{::open(root_.substr(0, slash + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!parent) return errno_error("opening the directory of " + root_, errno);
  return remove_tree(parent.get(), root_.substr(slash + 1));
}

Result<> remove_tree(int parent, const std::string& name) {
  UniqueFd top = open_directory(parent, name.c_str());

  struct stat status {};

  if (!top) {
    if (errno == ENOENT) return {};
    return errno_error("removing " + name, errno);
  }
  if (::fstat(top.get(), &status) != 0) return errno_error("removing " + name, errno);
  Remover remover{top.get(), status.st_dev};
  // What was moved up from the depths comes in the next round.
  for (;;) {
    auto entries = entries_of(top.get());
    bool any_gone = false;
    for (const std::string& entry : entries)
      any_gone |= remover.remove(top.get(), entry, 0);
    if (!any_gone) break;
  }
  NOMAD_TRY(remover.outcome());
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return errno_error("removing " + name, errno);
  return {};
}

}  // namespace nomad::host
