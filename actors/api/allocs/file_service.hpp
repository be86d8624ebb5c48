// FileService: one thread that reads allocation files and follows them by inotify, so that neither
// an I/O thread nor an actor waits for a disk.
//
// Started by the first who wants turns there. Those and the callbacks of the watcher must be short
// (read a chunk, write it, return).
#pragma once

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

  /// Of the thread; nobody's when the service has been stopped. Thread-safe.
  Turns turns();

  /// On the thread. Null when inotify is not to be had.
  host::FileWatcher* watcher() const { return watcher_.get(); }

  /// Ends the thread after what has been given to it. The watcher stays: a stream that another
  /// server has passed on ends later than this, on a thread of its connection.
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
