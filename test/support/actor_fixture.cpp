#include "test/support/actor_fixture.hpp"

#include <algorithm>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

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
  return core_->scheduler.try_run_once();
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
