// HostReader: the facts of the machine, for all who ask at once by one read. That may hang for as
// long as a disk or a file system of the network does not answer, so it has a thread of its own
// that nobody waits for: who asked is told so after a while, and so is at once who asks then.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/base/result.hpp"
#include "runtime/host/fingerprint/host_data.hpp"
#include "runtime/net/timer_queue.hpp"

namespace nomad::api {

class HostReader {
public:
  using Read = std::function<host::HostData()>;
  using Done = std::function<void(const Result<host::HostData>&)>;

  explicit HostReader(std::chrono::nanoseconds patience = std::chrono::seconds{10},
                      Read read = host::read_host_data);
  HostReader(const HostReader&) = delete;
  ~HostReader();  ///< Stops.

  /// `done` is called once, on another thread, or at once when it is refused; it must not ask
  /// again. Never when `stop` comes before. `timers` live until then. Any thread.
  void read(net::TimerQueue& timers, Done done);

  /// Nobody is told any more, and no read is waited for: its thread ends when the system lets it.
  void stop();

private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace nomad::api
