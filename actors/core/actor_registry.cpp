#include "actors/core/actor_registry.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "actors/core/caf_actor.hpp"
#include "actors/core/ticks.hpp"

namespace nomad::actor {
namespace {

struct Registry {
  std::mutex mutex;
  ActorStats* newest = nullptr;
};

/// Both clocks at one moment.
struct Moment {
  std::int64_t ticks = actor::ticks();
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

const Moment process_start;

Registry& all() {
  static Registry each;
  return each;
}

std::uint64_t waiting_of(const ActorStats& stats, std::size_t priority) {
  return stats.waiting(priority, stats.begun[priority].load(std::memory_order_acquire));
}

ActorInfo info_of(const ActorStats& stats) {
  return {.id = stats.id,
          .owner = stats.owner.load(),
          .name = stats.name,
          .about = stats.about,
          .policy = stats.policy,
          .waiting = waiting_of(stats, 0),
          .waiting_urgent = waiting_of(stats, 1),
          .handled = stats.begun[0].load() + stats.begun[1].load(),
          .restarts = stats.restarts.load(),
          .longest = time_of_ticks(stats.longest.load())};
}

}  // namespace

std::chrono::nanoseconds time_of_ticks(std::int64_t count) {
  const Moment now;
  const auto ticks_passed = static_cast<double>(now.ticks - process_start.ticks);
  const std::chrono::duration<double, std::nano> passed = now.time - process_start.time;
  if (ticks_passed <= 0) return std::chrono::nanoseconds{0};
  return std::chrono::nanoseconds{
      static_cast<std::int64_t>(static_cast<double>(count) * passed.count() / ticks_passed)};
}

void register_actor(ActorStats& stats) {
  const std::scoped_lock lock{all().mutex};
  stats.registered = true;
  stats.next = std::exchange(all().newest, &stats);
  if (stats.next != nullptr) stats.next->previous = &stats;
}

void unregister_actor(ActorStats& stats) {
  const std::scoped_lock lock{all().mutex};
  if (!std::exchange(stats.registered, false)) return;
  if (stats.next != nullptr) stats.next->previous = stats.previous;
  (stats.previous != nullptr ? stats.previous->next : all().newest) = stats.next;
}

void set_about(const Self& self, std::string about) {
  const std::scoped_lock lock{all().mutex};
  self.caf_actor().stats().about = std::move(about);
}

std::vector<ActorInfo> list_actors(const System& system) {
  std::vector<ActorInfo> found;
  const std::scoped_lock lock{all().mutex};
  for (const auto* stats = all().newest; stats != nullptr; stats = stats->next)
    if (stats->system == &system) found.push_back(info_of(*stats));
  std::ranges::sort(found, {}, &ActorInfo::id);
  return found;
}

}  // namespace nomad::actor
