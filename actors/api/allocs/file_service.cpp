#include "actors/api/allocs/file_service.hpp"

#include <utility>

#include "runtime/base/log.hpp"

namespace nomad::api {

FileService::~FileService() {
  stop();
}

void FileService::run(Task task) {
  const std::lock_guard lock{guard_};
  if (is_stopping_) return;
  if (!is_started_) {
    is_started_ = true;
    loop_.start();
    loop_.post([this] { open_watcher(); });
  }
  loop_.post([this, task = std::move(task)] { task(watcher_.get()); });
}

void FileService::open_watcher() {
  auto opened = host::FileWatcher::open();
  if (!opened) return log::warn("http", "files can't be followed: {}", opened.error().what);
  watcher_ = std::move(*opened);
  loop_.watch(watcher_->descriptor(), [this] { watcher_->dispatch(); });
}

void FileService::stop() {
  {
    const std::lock_guard lock{guard_};
    is_stopping_ = true;
    if (!is_started_) return;
  }
  loop_.stop([this] { watcher_.reset(); });
}

}  // namespace nomad::api
