#include "runtime/host/file_watcher.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include <sys/inotify.h>
#include <unistd.h>

namespace nomad::host {

Result<std::unique_ptr<FileWatcher>> FileWatcher::open() {
  UniqueFd inotify{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  if (!inotify) return errno_error("watching files", errno);
  return std::unique_ptr<FileWatcher>(new FileWatcher(std::move(inotify)));
}

Result<FileWatcher::Id> FileWatcher::watch(int file, std::function<void()> changed) {
  // Through the descriptor, so that no link is followed and no other file watched by mistake.
  std::string path = "/proc/self/fd/" + std::to_string(file);
  int kernel_watch = ::inotify_add_watch(
      inotify_.get(), path.c_str(),
      IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF);
  if (kernel_watch < 0) return errno_error("watching a file", errno);
  const std::lock_guard lock{guard_};
  Id id = next_id_++;
  watches_[id] = {kernel_watch, std::move(changed)};
  by_kernel_watch_[kernel_watch].push_back(id);
  return id;
}

void FileWatcher::unwatch(Id id) {
  const std::lock_guard lock{guard_};
  auto found = watches_.find(id);
  if (found == watches_.end()) return;
  int kernel_watch = found->second.kernel_watch;
  watches_.erase(found);
  auto shared = by_kernel_watch_.find(kernel_watch);
  if (shared == by_kernel_watch_.end()) return;  // the kernel dropped it with the file
  std::erase(shared->second, id);
  if (!shared->second.empty()) return;
  by_kernel_watch_.erase(shared);
  ::inotify_rm_watch(inotify_.get(), kernel_watch);
}

void FileWatcher::dispatch() {
  const std::lock_guard lock{guard_};
  alignas(inotify_event) std::array<char, 16 * 1024> buffer;
  std::vector<Id> changed;
  ssize_t got = 0;
  while ((got = ::read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        for (const auto& [id, watch] : watches_)
          changed.push_back(id);
        continue;
      }
      auto shared = by_kernel_watch_.find(event->wd);
      if (shared == by_kernel_watch_.end()) continue;
      changed.insert(changed.end(), shared->second.begin(), shared->second.end());
      if ((event->mask & IN_IGNORED) != 0) by_kernel_watch_.erase(shared);
    }
  }
  std::sort(changed.begin(), changed.end());
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  for (Id id : changed) {
    auto found = watches_.find(id);
    if (found == watches_.end()) continue;  // an earlier callback took it away
    auto callback = found->second.changed;
    callback();
  }
}

}  // namespace nomad::host
