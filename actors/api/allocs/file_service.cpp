#include "actors/api/allocs/file_service.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/base/log.hpp"

namespace nomad::api {

FileService::~FileService() {
  stop();
}

void FileService::run(Task task) {
  {
    const std::lock_guard lock{guard_};
    if (stopping_) return;
    if (!thread_.joinable()) {
      wake_ = host::UniqueFd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
      if (wake_.get() < 0) {
        log::error("http", "eventfd: {}; files can't be read", std::strerror(errno));
        return;
      }
      thread_ = std::thread{[this] { work(); }};
    }
    tasks_.push_back(std::move(task));
  }
  static_cast<void>(::eventfd_write(wake_.get(), 1));
}

void FileService::stop() {
  std::thread ended;
  {
    const std::lock_guard lock{guard_};
    stopping_ = true;
    ended.swap(thread_);
  }
  if (!ended.joinable()) return;
  static_cast<void>(::eventfd_write(wake_.get(), 1));
  ended.join();
}

std::deque<FileService::Task> FileService::take() {
  std::deque<Task> taken;
  const std::lock_guard lock{guard_};
  taken.swap(tasks_);
  return taken;
}

void FileService::work() {
  auto opened = host::FileWatcher::open();
  if (!opened) log::warn("http", "files can't be followed: {}", opened.error().what);
  auto watcher = opened ? std::move(*opened) : nullptr;
  for (;;) {
    std::array<pollfd, 2> entries{pollfd{wake_.get(), POLLIN, 0},
                                  pollfd{watcher ? watcher->descriptor() : -1, POLLIN, 0}};
    if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) {
      log::error("http", "poll: {}; files are not read any more", std::strerror(errno));
      return;
    }
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(wake_.get(), &count));
    for (auto tasks = take(); !tasks.empty(); tasks.pop_front())
      tasks.front()(watcher.get());
    if (watcher && (entries[1].revents & POLLIN) != 0) watcher->dispatch();
    const std::lock_guard lock{guard_};
    if (stopping_ && tasks_.empty()) return;
  }
}

}  // namespace nomad::api
