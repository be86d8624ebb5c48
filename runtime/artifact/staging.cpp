#include "runtime/artifact/staging.hpp"

#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/artifact/protocol/protocol.hpp"
#include "runtime/artifact/rules/unpack_policy.hpp"
#include "runtime/disk/tree.hpp"
#include "runtime/host/alloc_dir.hpp"
#include "runtime/host/beneath.hpp"

namespace nomad::artifact {
namespace {

using host::UniqueFd;

constexpr std::size_t deepest = 256;
constexpr mode_t directory_mode = 0755;
constexpr mode_t permissions = 0777;
constexpr mode_t owner_may_all = 0700;
constexpr std::size_t copied_at_once = std::size_t{1} << 20U;

Error io(const char* what, const std::string& path) {
  return errno_error(std::string{what} + " " + path, errno);
}

std::string below(const std::string& above, const std::string& name) {
  return above.empty() ? name : above + "/" + name;
}

Error refused(const std::string& path, const std::string& why) {
  return {Errc::rejected, "what was fetched has \"" + path + "\", which " + why};
}

Result<struct stat> look_at(int directory, const std::string& name, const std::string& path) {
  struct stat status {};

  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return io("looking at", path);
  return status;
}

Result<std::string> target_of(int directory, const std::string& name, const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const auto size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (size < 0) return io("reading the link", path);
  target.resize(static_cast<std::size_t>(size));
  return target;
}

Result<> own(int file, const host::FileOwner& owner, const std::string& path) {
  constexpr auto same = static_cast<uid_t>(-1);
  if (!owner.user && !owner.group) return {};
  if (::fchown(file, owner.user.value_or(same), owner.group.value_or(same)) != 0)
    return io("giving away", path);
  return {};
}

/// Looks at a tree and makes it its owner's.
class Inspection {
public:
  explicit Inspection(const host::FileOwner& owner)
      : uid_{owner.user.value_or(::geteuid())}, gid_{owner.group.value_or(::getegid())} {}

  /// The entry `name` of `directory`, `depth` directories below the top of what was fetched.
  Result<> inspect(int directory,
                   const std::string& name,
                   const std::string& path,
                   std::size_t depth);

  Result<> contents(int directory, const std::string& path, std::size_t depth);

private:
  uid_t uid_;
  gid_t gid_;
};

Result<> Inspection::contents(int directory, const std::string& path, std::size_t depth) {
  if (depth > deepest) return refused(path, "lies too deep");
  for (const auto& name : NOMAD_TRY(disk::entries_of(directory)))
    NOMAD_TRY(inspect(directory, name, below(path, name), depth));
  return {};
}

Result<> Inspection::inspect(int directory,
                             const std::string& name,
                             const std::string& path,
                             std::size_t depth) {
  const auto status = NOMAD_TRY(look_at(directory, name, path));
  const bool is_link = S_ISLNK(status.st_mode);
  if (!is_link && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    return refused(path, "is a device, a FIFO or a socket");
  if (is_link) {
    const auto target = NOMAD_TRY(target_of(directory, name, path));
    if (!stays_within(target, depth))
      return refused(path, "is a link that leads outside, to \"" + target + "\"");
  }
  if ((status.st_uid != uid_ || status.st_gid != gid_)
      && ::fchownat(directory, name.c_str(), uid_, gid_, AT_SYMLINK_NOFOLLOW) != 0)
    return io("becoming the owner of", path);
  // Root may move things out of any directory, others out of their own writable ones.
  if (is_link) return {};
  auto mode = status.st_mode & permissions;
  if (S_ISDIR(status.st_mode) && ::geteuid() != 0) mode |= owner_may_all;
  if (::fchmodat(directory, name.c_str(), mode, 0) != 0) return io("changing the mode of", path);
  if (!S_ISDIR(status.st_mode)) return {};
  const auto inner = disk::open_directory(directory, name.c_str());
  if (!inner) return io("opening", path);
  return contents(inner.get(), path, depth + 1);
}

/// Moves entries from one directory to another; what is made there is `owner`'s.
class Move {
public:
  explicit Move(const host::FileOwner& owner) : owner_{owner} {}

  Result<> contents(int from, int to, const std::string& path) const;

  Result<> entry(int from,
                 const std::string& name,
                 int to,
                 const std::string& as,
                 const std::string& path) const;

private:
  Result<> unite(int from,
                 const std::string& name,
                 int to,
                 const std::string& as,
                 mode_t mode,
                 const std::string& path) const;
  Result<> copy(int from,
                const std::string& name,
                int to,
                const std::string& as,
                const struct stat& status,
                const std::string& path) const;

  const host::FileOwner& owner_;
};

Result<> Move::contents(int from, int to, const std::string& path) const {
  for (const auto& name : NOMAD_TRY(disk::entries_of(from)))
    NOMAD_TRY(entry(from, name, to, name, below(path, name)));
  return {};
}

Result<> Move::entry(int from,
                     const std::string& name,
                     int to,
                     const std::string& as,
                     const std::string& path) const {
  const auto status = NOMAD_TRY(look_at(from, name, path));
  const bool is_directory = S_ISDIR(status.st_mode);

  struct stat there {};

  const bool exists = ::fstatat(to, as.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && S_ISDIR(there.st_mode) != is_directory)
    return Error{Errc::conflict, "\"" + path + "\" is " + (is_directory ? "a directory" : "a file")
                                     + " and something else where it is to come"};
  if (exists && is_directory) return unite(from, name, to, as, there.st_mode, path);
  if (::renameat(from, name.c_str(), to, as.c_str()) == 0) return {};
  if (errno != EXDEV) return io("moving", path);
  if (!is_directory) return copy(from, name, to, as, status, path);
  if (::mkdirat(to, as.c_str(), directory_mode) != 0) return io("making", path);
  return unite(from, name, to, as, status.st_mode, path);
}

Result<> Move::unite(int from,
                     const std::string& name,
                     int to,
                     const std::string& as,
                     mode_t mode,
                     const std::string& path) const {
  const auto source = disk::open_directory(from, name.c_str());
  const auto target = disk::open_directory(to, as.c_str());
  if (!source || !target) return io("opening", path);
  NOMAD_TRY(contents(source.get(), target.get(), path));
  NOMAD_TRY(own(target.get(), owner_, path));
  if (::fchmod(target.get(), mode & 07777) != 0) return io("changing the mode of", path);
  return {};
}

/// To another file system: the secrets of a task are one.
Result<> Move::copy(int from,
                    const std::string& name,
                    int to,
                    const std::string& as,
                    const struct stat& status,
                    const std::string& path) const {
  const auto beside = ".nomadctl-artifact." + as.substr(0, 200);
  ::unlinkat(to, beside.c_str(), 0);
  if (S_ISLNK(status.st_mode)) {
    const auto target = NOMAD_TRY(target_of(from, name, path));
    if (::symlinkat(target.c_str(), to, beside.c_str()) != 0) return io("making the link", path);
  } else {
    const UniqueFd source{::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    const UniqueFd target{
        ::openat(to, beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!source || !target) return io("copying", path);
    for (;;) {
      const auto copied = ::sendfile(target.get(), source.get(), nullptr, copied_at_once);
      if (copied == 0) break;
      if (copied > 0) continue;
      const auto error = io("copying", path);
      ::unlinkat(to, beside.c_str(), 0);
      return error;
    }
    const timespec times[2]{status.st_atim, status.st_mtim};
    ::futimens(target.get(), times);
    NOMAD_TRY(own(target.get(), owner_, path));
    if (::fchmod(target.get(), status.st_mode & permissions) != 0)
      return io("changing the mode of", path);
  }
  if (::renameat(to, beside.c_str(), to, as.c_str()) != 0) return io("moving", path);
  return {};
}

Result<UniqueFd> make_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return io("making", path);
  auto made = disk::open_directory(AT_FDCWD, path.c_str());
  if (!made) return io("opening", path);
  return made;
}

}  // namespace

Staging::Staging(std::string alloc_root, std::string task)
    : above_{std::move(alloc_root) + "/.artifacts"},
      task_{std::move(task)},
      location_{above_ + "/" + task_} {}

Result<UniqueFd> Staging::begin(const std::string& key, uid_t uid, gid_t gid) const {
  NOMAD_TRY(make_directory(above_, 0700));
  const auto location = NOMAD_TRY(make_directory(location_, 0700));
  NOMAD_TRY(host::remove_tree(location.get(), key));
  if (::mkdirat(location.get(), key.c_str(), 0700) != 0) return io("making", path(key));
  auto made = disk::open_directory(location.get(), key.c_str());
  if (!made) return io("opening", path(key));
  if (::geteuid() == 0 && ::fchown(made.get(), uid, gid) != 0) return io("giving away", path(key));
  return made;
}

Result<> Staging::deliver(const std::string& key,
                          const Destination& to,
                          bool is_file,
                          const host::FileOwner& owner) const {
  const auto fetched = disk::open_directory(AT_FDCWD, path(key).c_str());
  if (!fetched) return io("opening", path(key));
  const auto status = NOMAD_TRY(look_at(fetched.get(), result_name, "the result"));
  if (is_file != S_ISREG(status.st_mode) || is_file == S_ISDIR(status.st_mode))
    return Error{Errc::rejected,
                 is_file ? "what was fetched is no file" : "what was fetched is no directory"};
  // The directory itself becomes the destination: it adds nothing to the depth of links.
  NOMAD_TRY(Inspection{owner}.inspect(fetched.get(), result_name, "",
                                      is_file ? 0 : static_cast<std::size_t>(-1)));
  const auto root = NOMAD_TRY(host::Beneath::open(to.root, false));
  if (!is_file) {
    if (!to.path.empty()) NOMAD_TRY(root.make_directories(to.path, directory_mode));
    const auto target = NOMAD_TRY(root.open_directory(to.path));
    const auto source = disk::open_directory(fetched.get(), result_name);
    if (!source) return io("opening", path(key));
    if (!to.path.empty()) NOMAD_TRY(own(target.get(), owner, to.path));
    return Move{owner}.contents(source.get(), target.get(), "");
  }
  const auto slash = to.path.rfind('/');
  const auto name = slash == to.path.npos ? to.path : to.path.substr(slash + 1);
  const auto directory = slash == to.path.npos ? std::string{} : to.path.substr(0, slash);
  if (name.empty())
    return Error{Errc::conflict, "the destination is a directory, and mode is \"file\""};
  if (!directory.empty()) NOMAD_TRY(root.make_directories(directory, directory_mode));
  const auto target = NOMAD_TRY(root.open_directory(directory));
  return Move{owner}.entry(fetched.get(), result_name, target.get(), name, to.path);
}

Result<> Staging::discard(const std::string& key) const {
  const auto location = disk::open_directory(AT_FDCWD, location_.c_str());
  if (!location) return {};
  return host::remove_tree(location.get(), key);
}

void Staging::mark_done(const std::string& key) const {
  const UniqueFd mark{
      ::open((path(key) + ".done").c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
}

bool Staging::is_done(const std::string& key) const {
  return ::access((path(key) + ".done").c_str(), F_OK) == 0;
}

Result<> Staging::clear() const {
  const auto above = disk::open_directory(AT_FDCWD, above_.c_str());
  if (!above) return {};
  NOMAD_TRY(host::remove_tree(above.get(), task_));
  ::rmdir(above_.c_str());  // Other tasks may have something there.
  return {};
}

}  // namespace nomad::artifact
