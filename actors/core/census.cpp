#include "actors/core/census.hpp"

#include <map>
#include <mutex>

#include "actors/core/ticks.hpp"

namespace nomad::actor {
namespace {

struct Register {
  std::mutex mutex;
  std::map<std::pair<const System*, std::uint64_t>, std::weak_ptr<const Vitals>> rows;
};

/// Both clocks at one moment.
struct Moment {
  std::int64_t ticks = actor::ticks();
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

const Moment process_start;

Register& all() {
  static Register each;
  return each;
}

/// What was begun is read first: so it is never more than what was queued.
std::uint64_t waiting_of(const Vitals& vitals, std::size_t kind) {
  const auto begun = vitals.begun[kind].load();
  return vitals.queued[kind].load() - begun;
}

Resident resident(const Vitals& vitals) {
  return {.id = vitals.id,
          .owner = vitals.owner.load(),
          .name = vitals.name,
          .policy = vitals.policy,
          .waiting = waiting_of(vitals, 0),
          .waiting_urgent = waiting_of(vitals, 1),
          .handled = vitals.begun[0].load() + vitals.begun[1].load(),
          .restarts = vitals.restarts.load(),
          .longest = time_of_ticks(vitals.longest.load())};
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

void enter(const std::shared_ptr<const Vitals>& vitals) {
  const std::scoped_lock lock{all().mutex};
  all().rows.insert_or_assign({vitals->system, vitals->id}, vitals);
}

void strike_out(const Vitals& vitals) {
  const std::scoped_lock lock{all().mutex};
  all().rows.erase({vitals.system, vitals.id});
}

std::vector<Resident> take_census(const System& system) {
  std::vector<Resident> residents;
  const std::scoped_lock lock{all().mutex};
  for (auto row = all().rows.lower_bound({&system, 0});
       row != all().rows.end() && row->first.first == &system; ++row)
    if (const auto vitals = row->second.lock()) residents.push_back(resident(*vitals));
  return residents;
}

}  // namespace nomad::actor
