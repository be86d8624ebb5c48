#include "runtime/host/beneath.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dirent.h>

namespace nomad::host {

namespace {

constexpr int max_links = 40;  // as the kernel's own bound

Error escapes() {
  return {Errc::rejected, "Path escapes the alloc directory"};
}

// A request's path, relative to the directory: without leading slashes, "." for the directory.
std::string relative(std::string_view path) {
  std::size_t begin = path.find_first_not_of('/');
  std::string result{begin == std::string_view::npos ? "" : path.substr(begin)};
  return result.empty() ? "." : result;
}

// Go's text for an errno: as the C library's, but in lower case.
Error go_error(const std::string& what, int number, Errc code = Errc::io) {
  std::string reason = std::generic_category().message(number);
  if (!reason.empty() && reason.front() >= 'A' && reason.front() <= 'Z')
    reason.front() = static_cast<char>(reason.front() + ('a' - 'A'));
  return {code, what + ": " + reason};
}

Error open_error(std::string_view operation, std::string_view path, int number) {
  std::string what = std::string{operation} + ' ' + std::string{path};
  switch (number) {
    case EXDEV:
    case ELOOP:
      return escapes();
    case ENOENT:
    case ENOTDIR:
      return go_error(what, number, Errc::not_found);
    case ENXIO:
      return {Errc::invalid_argument, what + ": not a regular file or directory"};
    case EISDIR:
      return {Errc::invalid_argument, what + ": is a directory"};
    case ENAMETOOLONG:
    case EINVAL:
      return go_error(what, number, Errc::invalid_argument);
    case EACCES:
    case EPERM:
      return go_error(what, number, Errc::permission_denied);
    default:
      return go_error(what, number);
  }
}

int open_beneath(int root,
                 const std::string& path,
                 std::uint64_t flags,
                 mode_t mode,
                 std::uint64_t more_resolve = 0) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | more_resolve;
  // EAGAIN: something was renamed while the kernel looked. Whoever does that on end gets it back.
  constexpr int tries = 128;
  for (int i = 0;; ++i) {
    auto descriptor
        = static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
    if (descriptor >= 0 || (errno != EAGAIN && errno != EINTR) || i == tries) return descriptor;
  }
}

std::string read_link(int directory, const std::string& name) {
  std::array<char, 4096> target;
  ssize_t length = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (length <= 0 || static_cast<std::size_t>(length) == target.size()) return {};
  return {target.data(), static_cast<std::size_t>(length)};
}

// Where an open descriptor is, as the kernel sees it now.
std::string path_of(int descriptor) {
  return read_link(AT_FDCWD, "/proc/self/fd/" + std::to_string(descriptor));
}

FileInfo to_info(std::string name, const struct stat& status) {
  FileInfo info;
  info.name = std::move(name);
  info.is_dir = S_ISDIR(status.st_mode);
  info.size = static_cast<std::uint64_t>(status.st_size);
  info.mode = go_file_mode(status.st_mode);
  info.modified = status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
  return info;
}

std::string last_component(std::string_view path) {
  while (!path.empty() && path.back() == '/')
    path.remove_suffix(1);
  return std::string{path.substr(path.rfind('/') + 1)};
}

Result<> write_all(int file, std::string_view content, std::string_view path) {
  while (!content.empty()) {
    ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return open_error("write", path, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

std::string go_file_mode(mode_t mode) {
  std::string text;
  if (S_ISDIR(mode)) text += 'd';
  if (S_ISLNK(mode)) text += 'L';
  if (S_ISBLK(mode) || S_ISCHR(mode)) text += 'D';
  if (S_ISFIFO(mode)) text += 'p';
  if (S_ISSOCK(mode)) text += 'S';
  if ((mode & S_ISUID) != 0) text += 'u';
  if ((mode & S_ISGID) != 0) text += 'g';
  if (S_ISCHR(mode)) text += 'c';
  if ((mode & S_ISVTX) != 0) text += 't';
  if (text.empty()) text = "-";
  constexpr std::string_view letters = "rwxrwxrwx";
  for (std::size_t i = 0; i < letters.size(); ++i)
    text += (mode & (0400U >> i)) != 0 ? letters[i] : '-';
  return text;
}

Beneath::Beneath(UniqueFd root, std::string directory, bool protect_secrets)
    : root_(std::move(root)), directory_(std::move(directory)), protect_secrets_(protect_secrets) {}

Result<Beneath> Beneath::open(std::string directory, bool protect_secrets) {
  UniqueFd root{::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!root) return open_error("open", directory, errno);
  std::string real = path_of(root.get());
  if (real.empty()) return errno_error("open " + directory, errno);
  return Beneath{std::move(root), std::move(real), protect_secrets};
}

// Finds the first absolute link on the way and returns the path with its target in its place, or
// nothing when there is none that stays below the directory.
Result<std::string> Beneath::follow_absolute_link(const std::string& path) const {
  std::size_t begin = 0;
  while (begin < path.size()) {
    std::size_t end = std::min(path.find('/', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    std::string parent = begin == 0 ? "." : path.substr(0, begin);
    UniqueFd directory{open_beneath(root_.get(), parent, O_PATH | O_DIRECTORY, 0)};
    if (!directory) return escapes();
    std::string target = name.empty() ? std::string{} : read_link(directory.get(), name);
    if (!target.empty() && target.front() == '/') {
      bool inside = target.compare(0, directory_.size(), directory_) == 0
                    && (target.size() == directory_.size() || target[directory_.size()] == '/');
      if (!inside) return escapes();
      return relative(target.substr(directory_.size())) + path.substr(end);
    }
    if (!target.empty()) {
      // A relative link may itself lead over an absolute one: put its target in its place too.
      UniqueFd behind{open_beneath(root_.get(), parent + '/' + name, O_PATH, 0)};
      if (!behind) return path.substr(0, begin) + target + path.substr(end);
    }
    begin = end + 1;
  }
  return escapes();
}

Result<UniqueFd> Beneath::resolve(std::string_view path,
                                  std::uint64_t flags,
                                  mode_t mode,
                                  std::string_view operation) const {
  if (path.find('\0') != std::string_view::npos)
    return Error{Errc::invalid_argument, std::string{operation} + ": the path has a NUL byte"};
  std::string where = relative(path);
  for (int links = 0; links <= max_links; ++links) {
    UniqueFd opened{open_beneath(root_.get(), where, flags, mode)};
    if (opened) return opened;
    if (errno != EXDEV) return open_error(operation, path, errno);
    where = NOMAD_TRY(follow_absolute_link(where));
  }
  return escapes();
}

Result<> Beneath::check_readable(int descriptor, std::string_view path) const {
  if (!protect_secrets_) return {};
  std::string real = path_of(descriptor);
  if (real.compare(0, directory_.size() + 1, directory_ + '/') != 0) return escapes();
  std::string_view inner = std::string_view{real}.substr(directory_.size() + 1);
  std::size_t slash = inner.find('/');
  if (slash == std::string_view::npos || inner.substr(0, slash) == "alloc") return {};
  std::string_view second = inner.substr(slash + 1);
  second = second.substr(0, second.find('/'));
  if (second == "secrets")
    return Error{Errc::rejected, "Reading secret file prohibited: " + std::string{path}};
  if (second == "private")
    return Error{Errc::rejected, "Reading private file prohibited: " + std::string{path}};
  return {};
}

namespace {

/// The first names in their order, of any number that come in any.
class FirstNames {
public:
  explicit FirstNames(const Listing& listing) : listing_{listing} {}

  void add(std::string_view name) {
    if (name == "." || name == ".." || name < listing_.from) return;
    if (listing_.wanted != nullptr && !listing_.wanted(name, listing_.of)) return;
    if (names_.size() > listing_.most) {  // The one more is what the next page is from.
      if (name >= names_.front()) return;
      std::ranges::pop_heap(names_);
      names_.pop_back();
    }
    names_.emplace_back(name);
    std::ranges::push_heap(names_);
  }

  std::vector<std::string> take() {
    std::ranges::sort_heap(names_);
    return std::move(names_);
  }

private:
  const Listing& listing_;
  std::vector<std::string> names_;  ///< A heap, the last one in front.
};

}  // namespace

Result<DirectoryPage> Beneath::list(std::string_view path, const Listing& listing) const {
  auto opened = NOMAD_TRY(resolve(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, "open"));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory{::fdopendir(opened.get()), ::closedir};
  if (!directory) return open_error("open", path, errno);
  const int descriptor = opened.release();  // now the directory's
  FirstNames found{listing};
  std::size_t read = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (++read > listing.max_names)
      return Error{Errc::too_large, std::string{path} + " has more than "
                                        + std::to_string(listing.max_names) + " entries"};
    found.add(entry->d_name);
  }
  DirectoryPage page;
  for (auto& name : found.take()) {
    if (page.files.size() == listing.most) {
      page.next = std::move(name);
      break;
    }

    struct stat status {};

    // One that went meanwhile is not there.
    if (::fstatat(descriptor, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      page.files.push_back(to_info(std::move(name), status));
  }
  return page;
}

Result<FileInfo> Beneath::stat(std::string_view path) const {
  auto opened = NOMAD_TRY(resolve(path, O_PATH, 0, "stat"));

  struct stat status {};

  if (::fstat(opened.get(), &status) != 0) return open_error("stat", path, errno);
  std::string name = last_component(relative(path));
  FileInfo info = to_info(name == "." ? last_component(directory_) : name, status);
  info.content_type = detect_content_type(info.name, "");
  if (!S_ISREG(status.st_mode)) return info;
  auto file = open_file(path);
  if (file.has_error()) return info;
  std::array<char, 512> head;
  ssize_t got = ::pread(file->descriptor.get(), head.data(), head.size(), 0);
  if (got > 0)
    info.content_type
        = detect_content_type(info.name, {head.data(), static_cast<std::size_t>(got)});
  return info;
}

Result<UniqueFd> Beneath::open_location(std::string_view path) const {
  return resolve(path, O_PATH, 0, "open");
}

Result<OpenFile> Beneath::open_file(std::string_view path) const {
  // Looked at before it is opened for reading, because opening a device can already do something.
  auto found = NOMAD_TRY(resolve(path, O_PATH, 0, "open"));

  struct stat status {};

  if (::fstat(found.get(), &status) != 0) return open_error("open", path, errno);
  if (S_ISDIR(status.st_mode)) return open_error("open", path, EISDIR);
  if (!S_ISREG(status.st_mode)) return open_error("open", path, ENXIO);
  NOMAD_TRY(check_readable(found.get(), path));
  // The very file that was looked at, whatever the path leads to by now.
  std::string same = "/proc/self/fd/" + std::to_string(found.get());
  OpenFile file;
  file.descriptor.reset(::open(same.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.descriptor) return open_error("open", path, errno);
  file.size = static_cast<std::uint64_t>(status.st_size);
  return file;
}

Result<std::string> Beneath::read_at(std::string_view path,
                                     std::uint64_t offset,
                                     std::size_t limit) const {
  auto file = NOMAD_TRY(open_file(path));
  std::string content;
  content.resize(offset >= file.size ? std::min<std::size_t>(limit, 4096)
                                     : static_cast<std::size_t>(
                                         std::min<std::uint64_t>(limit, file.size - offset)));
  std::size_t have = 0;
  while (have < content.size()) {
    ssize_t got = ::pread(file.descriptor.get(), content.data() + have, content.size() - have,
                          static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return open_error("read", path, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  content.resize(have);
  return content;
}

Result<UniqueFd> Beneath::open_directory(std::string_view path) const {
  return resolve(path, O_RDONLY | O_DIRECTORY, 0, "open");
}

Result<> Beneath::make_directories(std::string_view path, mode_t mode) const {
  std::string where = relative(path);
  while (where.ends_with('/'))
    where.pop_back();
  for (std::size_t end = 0; end != std::string::npos;) {
    end = where.find('/', end + 1);
    std::string part = where.substr(0, end);
    std::string name = last_component(part);
    auto parent = NOMAD_TRY(
        resolve(part.substr(0, part.size() - name.size()), O_RDONLY | O_DIRECTORY, 0, "mkdir"));
    if (name == "." || name.empty()) continue;
    if (name == "..") return escapes();
    if (::mkdirat(parent.get(), name.c_str(), mode) == 0) {
      // The process's umask took some of it away.
      UniqueFd made{
          ::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
      if (!made || ::fchmod(made.get(), mode) != 0) return open_error("mkdir", path, errno);
      continue;
    }
    if (errno != EEXIST) return open_error("mkdir", path, errno);
    NOMAD_TRY(resolve(part, O_PATH | O_DIRECTORY, 0, "mkdir"));
  }
  return {};
}

Result<> Beneath::write_file(std::string_view path,
                             std::string_view content,
                             mode_t mode,
                             bool durable,
                             const FileOwner& owner) const {
  std::string where = relative(path);
  std::string name = last_component(where);
  if (name == "." || name == ".." || name.empty()) return open_error("open", path, EISDIR);
  auto parent
      = NOMAD_TRY(resolve(where.substr(0, where.rfind(name)), O_RDONLY | O_DIRECTORY, 0, "open"));
  std::string temporary = "." + name.substr(0, 200) + ".nomadctl-new";
  ::unlinkat(parent.get(), temporary.c_str(), 0);
  UniqueFd file{::openat(parent.get(), temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!file) return open_error("open", path, errno);
  Result<> outcome = write_all(file.get(), content, path);
  constexpr auto unchanged = static_cast<uid_t>(-1);
  if (!outcome.has_error() && (owner.user || owner.group)
      && ::fchown(file.get(), owner.user.value_or(unchanged), owner.group.value_or(unchanged)) != 0)
    outcome = open_error("chown", path, errno);
  if (!outcome.has_error() && ::fchmod(file.get(), mode) != 0)
    outcome = open_error("chmod", path, errno);
  if (!outcome.has_error() && durable && ::fsync(file.get()) != 0)
    outcome = open_error("fsync", path, errno);
  if (!outcome.has_error()
      && ::renameat(parent.get(), temporary.c_str(), parent.get(), name.c_str()) != 0)
    outcome = open_error("rename", path, errno);
  if (!outcome.has_error() && durable && ::fsync(parent.get()) != 0)
    outcome = open_error("fsync", path, errno);
  if (outcome.has_error()) ::unlinkat(parent.get(), temporary.c_str(), 0);
  return outcome;
}

}  // namespace nomad::host
