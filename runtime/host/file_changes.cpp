#include "runtime/host/file_changes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/guard.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/file_time.hpp"

namespace nomad::host {
namespace {

using Clock = std::chrono::steady_clock;

/// "", "a", "a/b" of "a/b/c".
std::vector<std::string> directories_to(const std::string& path) {
  std::vector<std::string> all{""};
  for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
    if (slash > 0) all.push_back(path.substr(0, slash));
  return all;
}

}  // namespace

Result<FileMark> FileMark::of(const Beneath& root, std::string_view path) {
  const auto file = NOMAD_TRY(root.open_file(path));

  struct stat status {};

  if (::fstat(file.descriptor.get(), &status) != 0) return errno_error("looking at a file", errno);
  return FileMark{.device = status.st_dev,
                  .inode = status.st_ino,
                  .size = static_cast<std::uint64_t>(status.st_size),
                  .modified = nanoseconds_of(status.st_mtim),
                  .changed = nanoseconds_of(status.st_ctim)};
}

class FileChanges::Core {
public:
  explicit Core(FileChangesTerms terms) : terms_{std::move(terms)} {}

  ~Core() {
    {
      const std::lock_guard lock{mutex_};
      stopping_ = true;
    }
    ring();
    if (thread_.joinable()) thread_.join();
  }

  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Ticket watch(std::vector<SeenFile> files, std::function<void()> changed) {
    const std::lock_guard lock{mutex_};
    orders_.emplace(++last_, Order{std::move(files), std::move(changed)});
    if (!thread_.joinable()) thread_ = std::thread{[this] { serve(); }};
    ring();
    return last_;
  }

  void forget(Ticket ticket) {
    const std::lock_guard lock{mutex_};
    if (orders_.erase(ticket) > 0) return;
    forgotten_.push_back(ticket);
    ring();
  }

private:
  struct Order {
    std::vector<SeenFile> files;
    std::function<void()> changed;
  };

  struct Watched {
    Order order;
    std::vector<FileWatcher::Id> watches{};
    bool stirred = false;  ///< Something has happened on the way to its files.
    bool blind = false;    ///< Not all of that way could be watched.
  };

  void ring() const {
    const std::uint64_t once = 1;
    [[maybe_unused]] const auto rung = ::write(bell_.get(), &once, sizeof once);
  }

  void serve();
  bool take_orders();
  void attend(Watched& watched);
  void unwatch(Watched& watched);
  bool has_watcher();
  void warn(const Error& why);
  void look_by(Clock::time_point time);
  static bool is_another(const SeenFile& file);
  void look();

  const FileChangesTerms terms_;
  UniqueFd bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex_;
  std::map<Ticket, Order> orders_;  ///< That the thread has not taken yet.
  std::vector<Ticket> forgotten_;
  Ticket last_ = 0;
  bool stopping_ = false;
  std::thread thread_;

  // The thread's own.
  std::unique_ptr<FileWatcher> watcher_;  ///< Null: the kernel had none to spare.
  bool warned_ = false;
  std::map<Ticket, Watched> watched_;
  std::optional<Clock::time_point> look_at_;
};

/// False when it is to end.
bool FileChanges::Core::take_orders() {
  std::map<Ticket, Order> orders;
  std::vector<Ticket> forgotten;
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return false;
    orders.swap(orders_);
    forgotten.swap(forgotten_);
  }
  for (const auto ticket : forgotten) {
    const auto found = watched_.find(ticket);
    if (found == watched_.end()) continue;
    unwatch(found->second);
    watched_.erase(found);
  }
  for (auto& [ticket, order] : orders) {
    auto& watched = watched_[ticket];
    watched.order = std::move(order);
    attend(watched);
    // It may have changed before.
    watched.stirred = true;
    look_by(Clock::now());
  }
  return true;
}

void FileChanges::Core::look_by(Clock::time_point time) {
  look_at_ = look_at_ ? std::min(*look_at_, time) : time;
}

void FileChanges::Core::warn(const Error& why) {
  if (std::exchange(warned_, true)) return;
  log::warn("client", "files that templates read are looked at in turns, for want of inotify",
            {{"delay", format_duration(terms_.blind_pause)}, {"error", why}});
}

bool FileChanges::Core::has_watcher() {
  if (watcher_) return true;
  auto opened = terms_.open_watcher();
  if (opened)
    watcher_ = std::move(*opened);
  else
    warn(opened.error());
  return opened.has_value();
}

void FileChanges::Core::attend(Watched& watched) {
  watched.blind = !has_watcher();
  if (watched.blind) return;
  for (const auto& file : watched.order.files) {
    const auto root = Beneath::open(file.root, false);
    if (!root) {
      watched.blind = true;
      continue;
    }
    for (const auto& path : directories_to(file.path)) {
      const auto directory = root->open_directory(path);
      if (!directory) {
        // What is missing comes to the directory above it, which is watched.
        watched.blind = watched.blind || directory.error().code != Errc::not_found;
        break;
      }
      const auto watch = watcher_->watch(directory->get(), [this, &watched] {
        watched.stirred = true;
        look_by(Clock::now() + terms_.gather);
      });
      if (watch) {
        watched.watches.push_back(*watch);
      } else {
        watched.blind = true;
        warn(watch.error());
      }
    }
  }
}

void FileChanges::Core::unwatch(Watched& watched) {
  for (const auto watch : std::exchange(watched.watches, {}))
    watcher_->unwatch(watch);
}

bool FileChanges::Core::is_another(const SeenFile& file) {
  const auto root = Beneath::open(file.root, false);
  if (!root) return false;
  const auto mark = FileMark::of(*root, file.path);
  return mark && *mark != file.mark;
}

/// At the files on whose way something has happened.
void FileChanges::Core::look() {
  look_at_.reset();
  for (auto at = watched_.begin(); at != watched_.end();) {
    auto& watched = at->second;
    if (!std::exchange(watched.stirred, false)) {
      ++at;
      continue;
    }
    unwatch(watched);
    attend(watched);  // Before looking, so that nothing is missed. The way may be another one now.
    if (std::ranges::none_of(watched.order.files, is_another)) {
      if (watched.blind) look_by(Clock::now() + terms_.blind_pause);
      watched.stirred = watched.blind;
      ++at;
      continue;
    }
    unwatch(watched);
    guarded("client", watched.order.changed);
    at = watched_.erase(at);
  }
}

void FileChanges::Core::serve() {
  while (take_orders()) {
    // While changes gather, what happens waits in the kernel, which forgets nothing but says so.
    const bool gathers = look_at_ && *look_at_ <= Clock::now() + terms_.gather;
    const int watched = watcher_ && !gathers ? watcher_->descriptor() : -1;
    std::array<pollfd, 2> waits{{{bell_.get(), POLLIN, 0}, {watched, POLLIN, 0}}};
    int patience = -1;
    if (look_at_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*look_at_ - Clock::now());
      patience = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    if (::poll(waits.data(), waits.size(), patience) < 0 && errno != EINTR) {
      log::error("client", "watching files failed", {{"error", std::strerror(errno)}});
      return;
    }
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto heard = ::read(bell_.get(), &rings, sizeof rings);
    const bool is_time = look_at_ && Clock::now() >= *look_at_;
    if (watcher_ && (is_time || waits[1].revents != 0)) watcher_->dispatch();
    if (is_time) look();
  }
}

FileChanges::FileChanges(FileChangesTerms terms)
    : core_{std::make_unique<Core>(std::move(terms))} {}

FileChanges::~FileChanges() = default;

FileChanges::Ticket FileChanges::watch(std::vector<SeenFile> files, std::function<void()> changed) {
  return core_->watch(std::move(files), std::move(changed));
}

void FileChanges::forget(Ticket ticket) {
  core_->forget(ticket);
}

}  // namespace nomad::host
