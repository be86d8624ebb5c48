#include "runtime/net/event_loop.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "runtime/base/guard.hpp"

namespace nomad::net {

/// A descriptor of somebody else's that is waited for again and again.
class EventLoop::Watch : public std::enable_shared_from_this<Watch> {
public:
  Watch(boost::asio::io_context& io, int descriptor, std::function<void()> readable)
      : descriptor_{io, descriptor}, readable_{std::move(readable)} {}

  ~Watch() { end(); }

  void arm() {
    descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](const boost::system::error_code& failure) {
                             if (failure || !self->descriptor_.is_open()) return;
                             guarded("net", self->readable_);
                             if (self->descriptor_.is_open()) self->arm();
                           });
  }

  void end() {
    if (descriptor_.is_open()) descriptor_.release();
  }

private:
  boost::asio::posix::stream_descriptor descriptor_;
  const std::function<void()> readable_;
};

/// What was posted, of a loop that may be gone.
class EventLoop::Inbox final : public Turns::Taker {
public:
  explicit Inbox(boost::asio::io_context& io) : io_{io} {}

  bool take(Turns::Action& action) override {
    const std::lock_guard lock{guard_};
    if (is_closed_) return false;
    posted_.push_back(std::move(action));
    if (posted_.size() > 1) return true;
    boost::asio::post(io_, [this] {
      for (const auto& each : take_posted())
        guarded("net", each);
    });
    return true;
  }

  /// Nothing may be posted any more.
  void close() {
    const std::lock_guard lock{guard_};
    is_closed_ = true;
  }

  std::vector<Turns::Action> take_posted() {
    const std::lock_guard lock{guard_};
    return std::exchange(posted_, {});
  }

private:
  boost::asio::io_context& io_;  ///< Until it is closed.
  std::mutex guard_;
  std::vector<Turns::Action> posted_;
  bool is_closed_ = false;
};

struct EventLoop::Core {
  boost::asio::io_context io{1};
  const std::shared_ptr<Inbox> inbox = std::make_shared<Inbox>(io);
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  boost::asio::steady_timer alarm{io};
  std::vector<std::shared_ptr<Watch>> watches;  ///< On the loop's thread.
  bool is_over = false;                         ///< The same.
  std::atomic<bool> is_stopping{false};
  std::thread thread;
};

EventLoop::EventLoop() : core_{std::make_unique<Core>()} {}

EventLoop::~EventLoop() {
  stop();
  core_->inbox->close();
  core_->inbox->take_posted();  // of a loop that was never started
}

void EventLoop::start() {
  core_->thread = std::thread{[this] {
    while (!guarded("net", [this] { core_->io.run(); }))
      continue;  // behind the function that threw
  }};
}

void EventLoop::post(std::function<void()> action) {
  core_->inbox->take(action);
}

Turns EventLoop::turns() const {
  return Turns{core_->inbox};
}

void EventLoop::watch(int descriptor, std::function<void()> readable) {
  core_->watches.push_back(std::make_shared<Watch>(core_->io, descriptor, std::move(readable)));
  core_->watches.back()->arm();
}

void EventLoop::wake_at(std::chrono::steady_clock::time_point when, std::function<void()> action) {
  if (core_->is_over) return;
  core_->alarm.expires_at(when);
  core_->alarm.async_wait(
      [this, action = std::move(action)](const boost::system::error_code& failure) {
        if (!failure && !core_->is_over) action();  // else this call was due when it was cancelled
      });
}

bool EventLoop::is_current() const {
  return core_->io.get_executor().running_in_this_thread();
}

void EventLoop::stop(std::function<void()> last) {
  if (core_->is_stopping.exchange(true)) return;
  boost::asio::post(core_->io, [this, last = std::move(last)] {
    core_->is_over = true;
    core_->alarm.cancel();
    for (const auto& watch : core_->watches)
      watch->end();
    if (last) guarded("net", last);
    core_->inbox->close();
    core_->work.reset();
  });
  if (core_->thread.joinable()) core_->thread.join();
}

boost::asio::io_context& EventLoop::io() {
  return core_->io;
}

}  // namespace nomad::net
