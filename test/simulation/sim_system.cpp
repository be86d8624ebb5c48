#include "test/simulation/sim_system.hpp"

#include <algorithm>
#include <stdexcept>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

namespace nomad::test {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t hours_since_boot = 3'600'000'000'000;

/// So much work at one moment means that actors keep each other busy for ever.
constexpr std::uint64_t most_work_at_once = 2'000'000;

caf::actor_system_config& configure(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("testing"));
  return config;
}

}  // namespace

SimSystem::Scope::Scope(SimSystem& world, Machine machine)
    : world_(world), before_(world.running_) {
  world_.claim();
  world_.running_ = machine;
  world_.set_clock();
}

SimSystem::Scope::~Scope() {
  world_.claim();
  world_.running_ = before_;
  world_.set_clock();
}

SimSystem::SimSystem(std::uint64_t seed)
    : config_(std::make_unique<caf::actor_system_config>()),
      system_(std::make_unique<caf::actor_system>(configure(*config_))),
      scheduler_(dynamic_cast<caf::scheduler::test_coordinator*>(&system_->scheduler())),
      random_(seed) {
  owners_.resize(system_->latest_actor_id() + 1);
  set_clock();
}

SimSystem::~SimSystem() {
  shut_down();
}

void SimSystem::shut_down() {
  for (Machine machine = 0; machine < machines_.size(); ++machine)
    switch_off(machine);
  while (scheduler_->try_run_once())
    continue;
  // Timers hold their actors: let them go.
  scheduler_->clock().cancel_all();
  while (scheduler_->try_run_once())
    continue;
}

Time SimSystem::now() const {
  return scheduler_->clock().now().time_since_epoch();
}

SimSystem::Machine SimSystem::add_machine(std::string name) {
  machines_.push_back({.name = std::move(name),
                       .life = 0,
                       .paused_until = Time{0},
                       .wall_offset = Time{0},
                       .clock_rate = 1,
                       .held = {},
                       .actors = {}});
  return machines_.size() - 1;
}

void SimSystem::at(Time when, std::function<void()> action) {
  events_.push({std::max(when, now()), ++order_,
                std::make_shared<std::function<void()>>(std::move(action))});
}

void SimSystem::pause(Machine machine, Time until) {
  machines_[machine].paused_until = until;
  at(until, [this, machine] { resume(machine); });
}

void SimSystem::resume(Machine machine) {
  auto& state = machines_[machine];
  if (state.paused_until > now()) return;  // another pause has begun
  for (auto* job : std::exchange(state.held, {}))
    scheduler_->jobs.push_back(job);
}

void SimSystem::switch_on(Machine machine) {
  machines_[machine].life = ++lives_;
}

void SimSystem::switch_off(Machine machine) {
  auto& state = machines_[machine];
  state.life = 0;
  state.paused_until = Time{0};
  for (auto* job : std::exchange(state.held, {}))
    scheduler_->jobs.push_back(job);
  for (const auto& each : std::exchange(state.actors, {}))
    actor::kill(each);
}

/// What was spawned since the last call belongs to whoever is running.
void SimSystem::claim() {
  const auto latest = system_->latest_actor_id();
  while (owners_.size() <= latest)
    owners_.push_back(running_);
}

void SimSystem::set_clock() {
  clock_.wall = first_wall_time + now().count();
  double rate = 1;
  if (running_) {
    clock_.wall += machines_[*running_].wall_offset.count();
    rate = machines_[*running_].clock_rate;
  }
  clock_.boot
      = hours_since_boot + static_cast<std::int64_t>(static_cast<double>(now().count()) * rate);
}

std::uint64_t SimSystem::id_of(const caf::resumable& job) const {
  const auto* actor = dynamic_cast<const caf::scheduled_actor*>(&job);
  return actor == nullptr ? 0 : actor->id();
}

std::optional<SimSystem::Machine> SimSystem::owner(const caf::resumable& job) const {
  const auto id = id_of(job);
  return id < owners_.size() ? owners_[id] : std::nullopt;
}

/// Lets one actor handle one message. False when none of a machine that goes on has one.
bool SimSystem::work_once() {
  auto& jobs = scheduler_->jobs;
  while (!jobs.empty()) {
    if (jobs.size() > 1 && random_.chance(0.3)) {
      const auto chosen = random_.below(std::min<std::size_t>(jobs.size(), 16));
      std::swap(jobs.front(), jobs[chosen]);
    }
    auto* job = jobs.front();
    const auto machine = owner(*job);
    if (machine && is_paused(*machine)) {
      jobs.pop_front();
      machines_[*machine].held.push_back(job);
      continue;
    }
    ++steps_;
    trace_ = (trace_ ^ id_of(*job)) * 0x0000'0100'0000'01b3
             + static_cast<std::uint64_t>(now().count());
    claim();
    running_ = machine;
    set_clock();
    scheduler_->run_once();
    claim();
    running_.reset();
    return true;
  }
  return false;
}

void SimSystem::settle(const std::function<bool()>& is_over) {
  for (std::uint64_t done = 0; !is_over() && work_once(); ++done)
    if (done > most_work_at_once) throw std::runtime_error("the actors never come to rest");
}

std::optional<Time> SimSystem::next_time() {
  std::optional<Time> next;
  if (!events_.empty()) next = events_.top().at;
  const auto& timers = scheduler_->clock().schedule();
  if (!timers.empty()) {
    const Time due = timers.begin()->first.time_since_epoch();
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

void SimSystem::run_until(Time end, const std::function<bool()>& is_over) {
  settle(is_over);
  while (!is_over()) {
    const auto next = next_time();
    if (!next || *next > end) break;
    scheduler_->clock().advance_time(std::max(*next - now(), Time{0}));
    while (!events_.empty() && events_.top().at <= now() && !is_over()) {
      const auto event = events_.top();
      events_.pop();
      set_clock();
      (*event.action)();
      settle(is_over);
    }
    settle(is_over);
  }
  if (!is_over() && end > now()) scheduler_->clock().advance_time(end - now());
}

}  // namespace nomad::test
