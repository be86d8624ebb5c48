// SimSystem: one actor system in one thread, divided into machines, under a clock that only the
// simulation moves. Every actor belongs to the machine whose code spawned it, so that a machine can
// stand still (its actors' work is kept until it goes on), has a wall clock of its own, and dies as
// a whole. Which actor works next is drawn from the seed.
//
// The world outside the machines (networks, disks, processes) are functions called `at` a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "actors/core/supervise.hpp"
#include "runtime/base/random.hpp"
#include "runtime/raft/core.hpp"
#include "test/simulation/sim_clock.hpp"

namespace caf {
class actor_system_config;
class resumable;

namespace scheduler {
class test_coordinator;
}
}  // namespace caf

namespace nomad::test {

using raft::Time;

/// 2023-11-14: when the simulated worlds begin, in nanoseconds of Unix time.
constexpr std::int64_t first_wall_time = 1'700'000'000'000'000'000;

/// Work for an actor of the simulation to do itself: only within its own turn may it answer and
/// ask.
struct Run {
  using is_message = void;
  std::function<void()> action;
};

/// What a failpoint throws to end the work of an actor whose machine has crashed in it.
struct SimulatedCrash {};

class SimSystem {
public:
  using Machine = std::size_t;

  explicit SimSystem(std::uint64_t seed);
  SimSystem(const SimSystem&) = delete;
  SimSystem& operator=(const SimSystem&) = delete;
  ~SimSystem();

  actor::System& system() { return *system_; }

  /// Ends all actors. Whoever owns what they refer to calls it first.
  void shut_down();

  /// Since the world began.
  Time now() const;

  Machine add_machine(std::string name);

  const std::string& name(Machine machine) const { return machines_[machine].name; }

  /// Calls `action` when the time has come, after everything that was set for earlier.
  void at(Time when, std::function<void()> action);

  /// Runs `action` as code of `machine`: what it spawns belongs there, and its clock is read there.
  template <class Action>
  auto on(Machine machine, Action action) {
    const Scope scope{*this, machine};
    return action();
  }

  /// The machine stands still from now on until `until`, and is then late.
  void pause(Machine machine, Time until);
  void resume(Machine machine);

  bool is_paused(Machine machine) const { return machines_[machine].paused_until > now(); }

  /// Which life of the machine this is. While it is off, one that equals no other: what code of a
  /// dead machine begins is never gone on with.
  std::uint64_t life(Machine machine) const {
    const auto life = machines_[machine].life;
    return life != 0 ? life : --no_life_;
  }

  bool is_on(Machine machine) const { return machines_[machine].life != 0; }

  void switch_on(Machine machine);

  /// From now on nothing that its actors do has an effect, and they are ended.
  void switch_off(Machine machine);

  /// An actor that is ended when its machine is switched off.
  template <class Handle>
  Handle own(Machine machine, Handle handle) {
    machines_[machine].actors.push_back(handle);
    return handle;
  }

  /// Moves the wall clock of the machine, and of nothing else.
  void jump_wall_clock(Machine machine, Time by) { machines_[machine].wall_offset += by; }

  /// Somebody has set the clock right.
  void correct_wall_clock(Machine machine) { machines_[machine].wall_offset = Time{0}; }

  /// How fast its monotonic clock runs, against the world's time.
  void set_clock_rate(Machine machine, double rate) { machines_[machine].clock_rate = rate; }

  /// The machine whose code is running; nothing between them.
  std::optional<Machine> running() const { return running_; }

  /// Lets everything happen until `end`, or until `is_over` says so.
  void run_until(Time end, const std::function<bool()>& is_over);

  std::uint64_t steps() const { return steps_; }

  /// A number over everything that was done: equal for equal runs.
  std::uint64_t trace() const { return trace_; }

private:
  struct Event {
    Time at;
    std::uint64_t order;
    std::shared_ptr<std::function<void()>> action;

    bool operator>(const Event& other) const {
      return std::pair{at, order} > std::pair{other.at, other.order};
    }
  };

  struct MachineState {
    std::string name;
    std::uint64_t life = 0;
    Time paused_until{0};
    Time wall_offset{0};
    double clock_rate = 1;
    std::deque<caf::resumable*> held;
    std::vector<actor::Any> actors;
  };

  class Scope {
  public:
    Scope(SimSystem& world, Machine machine);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

  private:
    SimSystem& world_;
    std::optional<Machine> before_;
  };

  void claim();
  void set_clock();
  std::optional<Machine> owner(const caf::resumable& job) const;
  std::uint64_t id_of(const caf::resumable& job) const;
  bool work_once();
  void settle(const std::function<bool()>& is_over);
  std::optional<Time> next_time();

  std::unique_ptr<caf::actor_system_config> config_;
  std::unique_ptr<actor::System> system_;
  caf::scheduler::test_coordinator* scheduler_;
  SimClock clock_;
  Random random_;
  std::uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<MachineState> machines_;
  std::vector<std::optional<Machine>> owners_;  ///< By the actor's id.
  std::optional<Machine> running_;
  std::uint64_t lives_ = 0;
  mutable std::uint64_t no_life_ = ~std::uint64_t{0};
  std::uint64_t steps_ = 0;
  std::uint64_t trace_ = 0;
};

}  // namespace nomad::test
