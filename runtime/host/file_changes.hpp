// FileChanges: tells who has read files that tasks may change that they are others now, by inotify.
//
// Not the files are watched but the directories on the way to them, below their root: so a file
// that is put in another one's place counts, and so does a link that leads elsewhere. After the
// first change there, files are looked at `gather` later, together: whoever writes beside them
// without end wakes nobody more often than that. One that is missing by then is waited for.
//
// Where the kernel has no watch to spare (a user has 128 instances of inotify), files are looked at
// every `blind_pause`, and a warning says so once.
//
// May be used from any thread. Its own begins with the first file. What is called back is called
// there, and once: who reads the files again has them watched again, with what they were then, and
// so misses nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/host/file_watcher.hpp"

namespace nomad::host {

/// By what a file is known to be the same.
struct FileMark {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< Unix nanoseconds.
  std::int64_t changed = 0;   ///< Of its contents or of what is known of it.

  bool operator==(const FileMark&) const = default;

  /// Of the file that `path` leads to now. Take it before the file is read. Errors: Beneath's.
  static Result<FileMark> of(const Beneath& root, std::string_view path);
};

/// A file that was read.
struct SeenFile {
  std::string root;  ///< The directory that its path does not leave.
  std::string path;
  FileMark mark;
};

/// Tests have shorter times, and kernels that spare nothing.
struct FileChangesTerms {
  std::chrono::milliseconds gather{250};
  std::chrono::milliseconds blind_pause{10'000};
  std::function<Result<std::unique_ptr<FileWatcher>>()> open_watcher = FileWatcher::open;
};

class FileChanges {
public:
  using Ticket = std::uint64_t;

  explicit FileChanges(FileChangesTerms terms = {});
  FileChanges(const FileChanges&) = delete;
  FileChanges& operator=(const FileChanges&) = delete;

  /// Nothing is called back after it. Not from within a callback.
  ~FileChanges();

  /// Calls `changed` when one of the files is another than it was.
  Ticket watch(std::vector<SeenFile> files, std::function<void()> changed);

  /// A callback that is under way may still come. Unknown tickets are ignored.
  void forget(Ticket ticket);

private:
  class Core;

  std::unique_ptr<Core> core_;
};

}  // namespace nomad::host
