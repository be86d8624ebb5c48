// Turns: what gRPC's threads have for the plugin's own thread, in order. The plugin's thread runs
// it when the descriptor can be read.
//
// Threads: `post` any; the others the plugin's.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

namespace nomad::plugin::bridge {

class Turns {
public:
  Turns() : descriptor_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

  ~Turns() { ::close(descriptor_); }

  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  int descriptor() const { return descriptor_; }

  void post(std::function<void()> turn) {
    {
      const std::lock_guard lock{guard_};
      waiting_.push_back(std::move(turn));
    }
    const eventfd_t one = 1;
    static_cast<void>(::eventfd_write(descriptor_, one));
  }

  void run() {
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(descriptor_, &count));
    std::vector<std::function<void()>> turns;
    {
      const std::lock_guard lock{guard_};
      turns.swap(waiting_);
    }
    for (const auto& turn : turns)
      turn();
  }

private:
  const int descriptor_;
  std::mutex guard_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace nomad::plugin::bridge
