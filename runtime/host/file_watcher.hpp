// FileWatcher: tells many readers that their file may have changed, over one inotify descriptor.
//
// A user may have 128 inotify instances, hence one for all followers instead of one each. Its
// owner puts `descriptor()` into its event loop and calls `dispatch()` when it is readable.
// Callbacks may come without reason and come once for many changes; a reader then reads until it
// finds nothing. Watches follow the opened file or directory, not its path.
//
// Create, use and destroy it on one thread; only `unwatch` may come from any. Callbacks run inside
// `dispatch()` and may watch and unwatch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

class FileWatcher {
public:
  using Id = std::uint64_t;

  static Result<std::unique_ptr<FileWatcher>> open();

  /// Readable when `dispatch` has something to do.
  int descriptor() const { return inotify_.get(); }

  /// Calls `changed` after writes to, and removal of, the open file `file`; for a directory after
  /// entries came and went. `file` may be closed afterwards.
  Result<Id> watch(int file, std::function<void()> changed);

  /// No callback for `id` comes after this. Unknown ids are ignored.
  void unwatch(Id id);

  /// Reads what the kernel has to say and calls back. Never blocks.
  void dispatch();

private:
  explicit FileWatcher(UniqueFd inotify) : inotify_(std::move(inotify)) {}

  struct Watch {
    int kernel_watch = -1;
    std::function<void()> changed;
  };

  std::recursive_mutex guard_;  ///< Of all that follows; held by `dispatch` while it calls back.
  UniqueFd inotify_;
  Id next_id_ = 1;
  std::map<Id, Watch> watches_;
  std::map<int, std::vector<Id>> by_kernel_watch_;
};

}  // namespace nomad::host
