// RightsWatch: tells whatever goes on for long when its caller's rights may be others: streams,
// sessions, blocking queries. Each registers what looks at its caller anew, and is called when
// something has changed that rights are read from, and when the caller's token ends by itself.
//
// Whether something has changed is one number, which is looked at for all of them together, a few
// times a second while there is anybody to tell; where only servers know it, one question asks
// them. Where nobody needs rights nothing is registered.
//
// Thread-safe. What is called is called on the thread of the timers or of a gateway that brings an
// answer, maybe on both at once, must be quick, and may be called once more while it is being given
// up.
// Tests: rights_test.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/access/authenticator.hpp"
#include "runtime/net/timer_queue.hpp"

namespace nomad::api {

class RightsWatch {
  struct State;

public:
  using Look = std::function<void()>;
  using Tell = std::function<void(const Result<access::Principal>& now)>;

  /// Until a look is tried again that nobody had time for.
  static constexpr std::chrono::milliseconds look_again_after{300};

  /// Until it is destroyed, somebody is told.
  class [[nodiscard]] Watching {
  public:
    Watching() = default;
    Watching(Watching&& other) noexcept;
    Watching& operator=(Watching&& other) noexcept;
    ~Watching();

  private:
    friend class RightsWatch;
    Watching(std::weak_ptr<State> state, std::uint64_t number);

    std::weak_ptr<State> state_;
    std::uint64_t number_ = 0;
  };

  /// `timers` outlives this.
  RightsWatch(std::shared_ptr<access::Authenticator> authenticator, net::TimerQueue& timers);
  ~RightsWatch();

  Watching watch(const access::Principal& who, Look look);

  /// The same for who needs the caller with his rights of now, which `tell` gets, or why he has
  /// none. What is too much at the moment is none of these: it is looked at again.
  Watching renew(access::Principal who, Tell tell);

  /// The same for what is ended by losing a right: `judge` is asked with the caller's rights of now
  /// whenever they may be others, and `refuse` called with why he may not go on.
  Watching keep(access::Principal who,
                std::function<Result<>(const access::Principal& who)> judge,
                std::function<void(const Error& why)> refuse);

private:
  std::shared_ptr<State> state_;
};

}  // namespace nomad::api
