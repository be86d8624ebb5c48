#include "actors/api/allocs/file_service.hpp"

#include <utility>

#include "runtime/base/log.hpp"

namespace nomad::api {

FileService::~FileService() {
  stop();
}

Turns FileService::turns() {
  const std::lock_guard lock{guard_};
  if (is_stopping_) return {};
  if (!std::exchange(is_started_, true)) {
    loop_.start();
    loop_.post([this] { open_watcher(); });
  }
  return loop_.turns();
}

void FileService::open_watcher() {
  auto opened = host::FileWatcher::open();
  if (!opened) return log::warn("http", "files can't be followed", {{"error", opened.error()}});
  watcher_ = std::move(*opened);
  loop_.watch(watcher_->descriptor(), [this] { watcher_->dispatch(); });
}

void FileService::stop() {
  {
    const std::lock_guard lock{guard_};
    is_stopping_ = true;
    if (!is_started_) return;
  }
  loop_.stop();
}

}  // namespace nomad::api
