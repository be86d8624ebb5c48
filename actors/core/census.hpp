// Census: the actors that live, by their owners, with what each has done. An actor writes down its
// own deeds as it goes; whoever counts reads them from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/supervise.hpp"

namespace nomad::actor {

/// What one actor writes down. `queued` is everybody's, the rest its own. What is not atomic stays
/// as it was entered.
struct Vitals {
  const System* system = nullptr;
  std::uint64_t id = 0;
  std::atomic<std::uint64_t> owner{0};  ///< 0: nobody.
  const char* name = "";
  Policy policy = Policy::report;

  /// By Priority. What has not begun waits: one number less the other. Apart from each other,
  /// because senders write the one and the actor the other.
  alignas(64) std::atomic<std::uint64_t> queued[2] = {};
  alignas(64) std::atomic<std::uint64_t> begun[2] = {};
  std::atomic<std::int64_t> longest{0};  ///< In ticks.
  std::atomic<std::uint32_t> restarts{0};
};

/// One living actor, as it was when counted.
struct Resident {
  std::uint64_t id = 0;
  std::uint64_t owner = 0;  ///< The owner's id; 0: nobody.
  std::string name;
  Policy policy = Policy::report;
  std::uint64_t waiting = 0;         ///< Messages in the mailbox.
  std::uint64_t waiting_urgent = 0;  ///< And those that go ahead of them.
  std::uint64_t handled = 0;         ///< Messages, of either kind, timers and answers among them.
  std::uint64_t restarts = 0;
  std::chrono::nanoseconds longest{0};  ///< That it took for one of them.
};

/// Enters, and strikes out. Any thread.
void enter(const std::shared_ptr<const Vitals>& vitals);
void strike_out(const Vitals& vitals);

/// Everybody that lives in `system`, the oldest first. Any thread.
std::vector<Resident> take_census(const System& system);

}  // namespace nomad::actor
