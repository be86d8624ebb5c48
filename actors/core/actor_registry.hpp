// The registry of living actors: whose each is, and what it has done. An actor counts as it goes;
// any thread may look.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/core/supervise.hpp"

namespace nomad::actor {

/// What one actor counts; a part of the actor. `queued` is everybody's, the rest its own. What is
/// not atomic stays as it was registered.
struct ActorStats {
  /// By Priority. What has not begun waits: one number less `begun`.
  std::atomic<std::uint64_t> queued[2] = {};
  std::atomic<std::uint64_t> seen_begun[2] = {};  ///< `begun`, as a sender has seen it last.

  const System* system = nullptr;
  std::uint64_t id = 0;
  std::atomic<std::uint64_t> owner{0};  ///< 0: nobody.
  const char* name = "";
  ActorStats* previous = nullptr;  ///< The registry's own, as the next one.
  ActorStats* next = nullptr;
  Policy policy = Policy::report;
  bool registered = false;  ///< The registry's own.
  std::string about;        ///< As the registry's: only there looked at and changed.

  /// A cache line away from `queued`: the actor writes this, and senders that.
  std::atomic<std::uint32_t> restarts{0};
  std::atomic<std::uint64_t> begun[2] = {};
  std::atomic<std::int64_t> longest{0};  ///< In ticks.

  /// What waits, if so many have begun. These may be more than this thread sees to be queued, if
  /// another one has read them: then nothing waits.
  std::uint64_t waiting(std::size_t priority, std::uint64_t have_begun) const {
    const auto all = queued[priority].load(std::memory_order_relaxed);
    return all > have_begun ? all - have_begun : 0;
  }
};

/// One living actor, as it was when the list was made.
struct ActorInfo {
  std::uint64_t id = 0;
  std::uint64_t owner = 0;  ///< The owner's id; 0: nobody.
  std::string name;
  std::string about;  ///< Whom or what it is for, of those of one kind: a plugin's name.
  Policy policy = Policy::report;
  std::uint64_t waiting = 0;         ///< Messages in the mailbox.
  std::uint64_t waiting_urgent = 0;  ///< And those that go ahead of them.
  std::uint64_t handled = 0;         ///< Messages, of either kind, timers and answers among them.
  std::uint64_t restarts = 0;
  std::chrono::nanoseconds longest{0};  ///< That it took for one of them.
};

/// Any thread. `stats` stays where it is until it has been unregistered, which may be done twice.
void register_actor(ActorStats& stats);
void unregister_actor(ActorStats& stats);

/// Says whom the actor is for, where there are several of its kind. In its own turn.
void set_about(const Self& self, std::string about);

/// Everybody that lives in `system`, the oldest first. Any thread.
std::vector<ActorInfo> list_actors(const System& system);

}  // namespace nomad::actor
