// FileService: one thread that reads allocation files and follows them by inotify, so that neither
// an I/O thread nor an actor waits for a disk.
//
// Started by the first task. Tasks and the callbacks of the watcher run on that thread, one after
// the other; each must be short (read a chunk, write it, return).
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "runtime/host/file_watcher.hpp"
#include "runtime/net/event_loop.hpp"

namespace nomad::api {

class FileService {
public:
  FileService() = default;
  FileService(const FileService&) = delete;
  ~FileService();

  /// Gets the thread's watcher; null when inotify is not to be had.
  using Task = std::function<void(host::FileWatcher*)>;

  /// Runs `task` on the thread; drops it when the service has been stopped. Thread-safe.
  void run(Task task);

  /// Ends the thread after what has been given to it. Streams end first: the server has stopped.
  void stop();

private:
  void open_watcher();

  net::EventLoop loop_;
  std::unique_ptr<host::FileWatcher> watcher_;  ///< On the loop's thread.
  std::mutex guard_;
  bool is_started_ = false;
  bool is_stopping_ = false;
};

}  // namespace nomad::api
