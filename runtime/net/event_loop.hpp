// EventLoop: one thread that waits for sockets, timers and functions of other threads, and serves
// them one after the other. What is served must be quick.
//
// On Asio, which only those include that wait for something of their own (`io`).
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/base/turns.hpp"

namespace boost::asio {
class io_context;
}

namespace nomad::net {

class EventLoop {
public:
  EventLoop();
  EventLoop(const EventLoop&) = delete;
  ~EventLoop();  ///< Stops.

  /// Begins to serve. Once.
  void start();

  /// Runs `action` on this loop's thread, after what was posted before; drops it once the loop has
  /// stopped. Any thread.
  void post(std::function<void()> action);

  /// Those of this loop, by which others `post`. Whoever posts bounds what waits.
  Turns turns() const;

  /// Whether the caller runs on this loop's thread.
  bool is_current() const;

  /// Calls `readable` on this loop's thread each time `descriptor` has something to read, until the
  /// loop stops. The descriptor stays the caller's and must live as long. On this loop's thread.
  void watch(int descriptor, std::function<void()> readable);

  /// Runs `action` at `when`, unless another such call comes first. On this loop's thread.
  void wake_at(std::chrono::steady_clock::time_point when, std::function<void()> action);

  /// Runs `last`, then what was posted until it returned, and ends the thread. From another thread;
  /// a second call does nothing.
  void stop(std::function<void()> last = {});

  boost::asio::io_context& io();

private:
  class Inbox;
  class Watch;
  struct Core;

  std::unique_ptr<Core> core_;
};

}  // namespace nomad::net
