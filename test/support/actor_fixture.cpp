#include "test/support/actor_fixture.hpp"

#include <algorithm>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/local_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include "actors/core/actor_registry.hpp"

namespace nomad::test {

struct ActorFixture::Core {
  Core() : system(configure(config)), scheduler(coordinator(system)) {}

  static caf::actor_system_config& configure(caf::actor_system_config& config) {
    config.set("scheduler.policy", caf::atom("testing"));
    return config;
  }

  static caf::scheduler::test_coordinator& coordinator(caf::actor_system& system) {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }

  caf::actor_system_config config;
  caf::actor_system system;
  caf::scheduler::test_coordinator& scheduler;
};

ActorFixture::ActorFixture() : core_(std::make_unique<Core>()) {}

ActorFixture::~ActorFixture() {
  held_.clear();
  for (auto& handle : adopted_)
    actor::kill(handle);
  settle();
}

actor::System& ActorFixture::system() {
  return core_->system;
}

std::chrono::steady_clock::time_point ActorFixture::now() const {
  return core_->scheduler.clock().now();
}

void ActorFixture::settle() {
  while (run_one_message())
    continue;
}

bool ActorFixture::run_one_message() {
  auto& jobs = core_->scheduler.jobs;
  const auto may_run = [this](caf::resumable* job) {
    const auto* actor = dynamic_cast<caf::local_actor*>(job);
    return held_.empty() || actor == nullptr || actor->name() != held_;
  };
  const auto next = std::ranges::find_if(jobs, may_run);
  if (next == jobs.end()) return false;
  auto* const job = *next;
  jobs.erase(next);
  jobs.push_front(job);
  return core_->scheduler.try_run_once();
}

std::uint64_t ActorFixture::fullest(std::string_view kind) {
  std::uint64_t most = 0;
  for (const auto& one : actor::list_actors(core_->system))
    if (one.name == kind) most = std::max(most, one.waiting + one.waiting_urgent);
  return most;
}

void ActorFixture::advance(std::chrono::nanoseconds step) {
  settle();
  auto& clock = core_->scheduler.clock();
  const auto target = clock.now() + step;
  while (!clock.schedule().empty() && clock.schedule().begin()->first <= target) {
    const auto due = clock.schedule().begin()->first;
    clock.advance_time(std::max(due - clock.now(), caf::timespan{0}));
    settle();
  }
  clock.advance_time(target - clock.now());
}

}  // namespace nomad::test
