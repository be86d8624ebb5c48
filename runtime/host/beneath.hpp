// Beneath: the only way in which the agent touches files that tasks can influence.
//
// Every path is resolved by one openat2(2) that the kernel keeps below the directory
// (RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS), so neither "..", nor a symbolic link, nor a link that
// is swapped while we look leads outside. An absolute link is followed only when its target, read
// as a path of the host, lies below the directory; the result is again opened by that same call.
// Files are opened with O_NONBLOCK | O_CLOEXEC and must be regular files or directories: FIFOs,
// sockets and devices are refused, not waited for.
//
// Paths are relative to the directory; a leading "/" stands for the directory itself.
// Errors: `rejected` "Path escapes the alloc directory"; `rejected` "Reading secret file
// prohibited: <path>"; `not_found` with Go's text, "open <path>: no such file or directory";
// `invalid_argument` for a directory where a file is needed, the reverse, FIFOs and devices.
//
// Objects are immutable after `open`, so one may be used from several threads. Calls block on the
// file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

/// What the file API shows of one file (AllocFileInfo).
struct FileInfo {
  std::string name;
  bool is_dir = false;
  std::uint64_t size = 0;
  std::string mode;           ///< As Go prints it: "-rw-r--r--", "drwxrwxrwx", "Lrwxrwxrwx".
  std::int64_t modified = 0;  ///< Unix nanoseconds.
  std::string content_type;   ///< Only from `stat`, sniffed from the first 512 bytes.
};

/// Which entries of a directory are wanted. Only those are looked at: names cost little.
struct Listing {
  std::string from{};                 ///< By name, this one included.
  std::size_t most = 50'000;          ///< Entries in the answer.
  std::size_t max_names = 1'000'000;  ///< That are read. `too_large`: the directory has more.
  bool (*wanted)(std::string_view name, std::string_view of) = nullptr;  ///< Null: all.
  std::string of{};                                                      ///< What `wanted` is told.
};

struct DirectoryPage {
  std::vector<FileInfo> files;
  std::string next;  ///< The name that the next page is from; empty: that was all.
};

/// A regular file opened for reading.
struct OpenFile {
  UniqueFd descriptor;
  std::uint64_t size = 0;
};

/// Whose a file is to be; what is not said stays as the system makes it.
struct FileOwner {
  std::optional<uid_t> user{};
  std::optional<gid_t> group{};
};

class Beneath {
public:
  /// Opens `directory`, which must exist. With `protect_secrets`, contents below
  /// "<task>/secrets" and "<task>/private" are not readable (listing and stat are), whatever
  /// link leads there.
  static Result<Beneath> open(std::string directory, bool protect_secrets = true);

  /// The entries of a directory, by name. Links are shown as links.
  Result<DirectoryPage> list(std::string_view path, const Listing& listing = {}) const;

  /// The file that `path` leads to, links followed.
  Result<FileInfo> stat(std::string_view path) const;

  /// Opens a regular file for reading.
  Result<OpenFile> open_file(std::string_view path) const;

  /// Up to `limit` bytes from `offset` (fewer at the end of the file).
  Result<std::string> read_at(std::string_view path, std::uint64_t offset, std::size_t limit) const;

  /// Opens whatever the path leads to, with O_PATH.
  Result<UniqueFd> open_location(std::string_view path) const;

  /// Opens a directory, for openat(2) and friends.
  Result<UniqueFd> open_directory(std::string_view path) const;

  /// Creates the directory and its missing parents, each with exactly `mode`.
  Result<> make_directories(std::string_view path, mode_t mode) const;

  /// Writes a file whole: beside its location, synced when `durable`, then renamed over it.
  Result<> write_file(std::string_view path,
                      std::string_view content,
                      mode_t mode,
                      bool durable = false,
                      const FileOwner& owner = {}) const;

  int descriptor() const { return root_.get(); }

  const std::string& directory() const { return directory_; }

private:
  Beneath(UniqueFd root, std::string directory, bool protect_secrets);

  Result<UniqueFd> resolve(std::string_view path,
                           std::uint64_t flags,
                           mode_t mode,
                           std::string_view operation) const;
  Result<std::string> follow_absolute_link(const std::string& path) const;
  Result<> check_readable(int descriptor, std::string_view path) const;

  UniqueFd root_;
  std::string directory_;  ///< Real path, without a trailing slash.
  bool protect_secrets_;
};

/// The text of Go's FileMode.String() for an st_mode.
std::string go_file_mode(mode_t mode);

/// The media type of a file by its first bytes, with the types that Go's net/http tells apart;
/// "application/json" for names that end in ".json".
std::string detect_content_type(std::string_view name, std::string_view head);

}  // namespace nomad::host
