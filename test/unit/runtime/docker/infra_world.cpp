#include "test/unit/runtime/docker/infra_world.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "runtime/base/overloaded.hpp"
#include "runtime/docker/infra_machine.hpp"
#include "test/unit/runtime/docker/engine_world.hpp"

namespace nomad::test {
namespace {

namespace infra = docker::infra_action;
using docker::InfraMachine;

constexpr const char* network_name = "nomad_init_a";

class InfraWorld : public EngineWorld {
public:
  explicit InfraWorld(std::uint64_t seed) : EngineWorld{seed} {
    engine_.images = {"busybox:1"};
    engine_.on_start
        = [this](const FakeContainer& container) { engine_.find(container.id)->pid = ++pids_; };
    engine_.on_end = [this](const FakeContainer& container) { note_end(container); };
    if (random_.chance(0.1)) leave_container("others");
    if (random_.chance(0.2)) leave_container("us");
  }

  void step() {
    const auto dice = random_.below(100);
    if (dice < 60)
      something_comes(/*may_fail=*/true);
    else if (dice < 70)
      enter();
    else if (dice < 80)
      join(random_.below(tasks_.size()));
    else if (dice < 88)
      leave(random_.below(tasks_.size()));
    else if (dice < 91)
      is_away_ = !is_away_;
    else if (dice < 93)
      lose_container();
    else if (dice < 94)
      crash();
    else
      say_nonsense();
    carry_out();
  }

  /// Nothing fails any more, and all tasks leave.
  void drain() {
    is_away_ = false;
    by_itself_ = true;
    for (const auto& container : std::vector{engine_.containers})
      if (container.label(docker::label::agent) == "others") engine_.forget(container.id);
    by_itself_ = false;
    for (std::size_t task = 0; task < tasks_.size(); ++task)
      leave(task);
    // As whoever tidies up after an agent that died, or had an engine that refused for too long.
    if (!engine_.containers.empty() && may_be_left_) order_to_leave();
    carry_out();
    for (int i = 0; i < 2'000 && is_owed(); ++i) {
      enter();
      something_comes(/*may_fail=*/false);
      carry_out();
    }
    require(joining_.empty() && leaving_ == 0, "whoever waits is told");
    require(is_over_, "the machine is over");
    require(engine_.containers.empty(), "no container is left");
  }

private:
  struct Task {
    bool joins = false;
    std::string container{};  ///< That it has joined.
  };

  // -- tasks -------------------------------------------------------------------------------------

  bool is_anybody_there() const {
    return std::ranges::any_of(
        tasks_, [](const Task& task) { return task.joins || !task.container.empty(); });
  }

  InfraMachine& machine() {
    if (is_over_) make_machine();
    return machine_;
  }

  void make_machine() {
    lose_words();
    machine_ = InfraMachine{{.name = network_name, .agent = "us"}};
    is_over_ = false;
  }

  void join(std::size_t task) {
    if (tasks_[task].joins || !tasks_[task].container.empty()) return;
    tasks_[task].joins = true;
    joining_.push_back(task);
    machine().join({.alloc_id = "a",
                    .agent = "us",
                    .image = "busybox:1",
                    .hostname = {},
                    .program = {},
                    .network_namespace = "/ns"});
  }

  /// The last one tells the machine.
  void leave(std::size_t task) {
    if (!tasks_[task].joins && tasks_[task].container.empty()) return;
    tasks_[task] = {};
    if (!is_anybody_there()) order_to_leave();
  }

  void order_to_leave() {
    ++leaving_;
    machine().leave();
  }

  /// Tasks that run go on, and of the others nobody knows any more.
  void crash() {
    make_machine();
    is_over_ = may_be_left_ = true;
    joining_.clear();
    leaving_ = 0;
    for (auto& task : tasks_)
      task.joins = false;
  }

  // -- the engine --------------------------------------------------------------------------------

  void leave_container(const char* agent) {
    if (engine_.find(network_name) != nullptr) return;
    engine_.containers.push_back({.id = "old",
                                  .name = network_name,
                                  .image = "busybox:1",
                                  .network_mode = {},
                                  .command = {},
                                  .labels = {{docker::label::agent, agent}},
                                  .status = "running",
                                  .pid = ++pids_});
    may_be_left_ = true;
  }

  /// A process comes into the namespace; those of earlier lives stay in another one.
  void enter() {
    for (const auto& container : engine_.containers)
      if (container.is_running() && container.id != "old") inside_.insert(container.pid);
  }

  void lose_container() {
    if (engine_.containers.empty()) return;
    const auto id = engine_.containers.front().id;
    by_itself_ = true;
    lost_.insert(id);
    if (random_.chance(0.5))
      engine_.end(id, 1);
    else
      engine_.forget(id);
    by_itself_ = false;
  }

  void note_end(const FakeContainer& container) const {
    if (by_itself_) return;
    require(container.label(docker::label::agent) == "us", "what is another agent's stays");
    for (const auto& task : tasks_)
      require(task.container != container.id, "what a task has joined stays");
  }

  // -- what the machine hears and wants ----------------------------------------------------------

  void hear_answer(Round round, const docker::EngineOutcome& outcome) override {
    machine_.answered(round, outcome);
  }

  void hear_time(Round round) override { machine_.time_over(round); }

  bool wants_nothing() override { return machine_.take().empty(); }

  /// Tasks hear what they are told in a turn to come.
  void carry_out() {
    for (auto actions = machine_.take(); !actions.empty(); actions = machine_.take()) {
      std::vector<infra::TellJoined> told;
      for (const auto& action : actions) {
        require(!is_over_, "a machine that is over says nothing");
        carry_out(action);
        if (const auto* const joined = std::get_if<infra::TellJoined>(&action))
          told.push_back(*joined);
      }
      for (const auto& each : told)
        note_joined(each.container);
    }
  }

  void carry_out(const docker::InfraAction& action) {
    std::visit(Overloaded{[this](const infra::LogWarning&) { may_be_left_ = true; },
                          [this](const infra::Compare& it) {
                            owe(it.round, [this, it](bool) {
                              machine_.compared(it.round, inside_.contains(it.pid));
                            });
                          },
                          [](const infra::TellJoined&) {},
                          [this](const infra::TellLeft&) {
                            require(std::exchange(leaving_, 0) > 0,
                                    "only those that left are told");
                          },
                          [this](const infra::End&) { is_over_ = true; },
                          [this](const auto& it) { perform(it); }},
               action);
  }

  void note_joined(const Result<std::string>& told) {
    require(!joining_.empty(), "only those that join are told, once");
    if (told && !lost_.contains(*told)) {
      const auto* const container = engine_.find(*told);
      require(container != nullptr && container->is_running(), "what is joined runs");
      require(inside_.contains(container->pid), "what is joined has entered the namespace");
    }
    for (const auto task : std::exchange(joining_, {})) {
      if (!std::exchange(tasks_[task].joins, false)) continue;  // It has left meanwhile.
      if (told)
        tasks_[task].container = *told;
      else if (!is_anybody_there())
        order_to_leave();
    }
  }

  InfraMachine machine_{{.name = network_name, .agent = "us"}};
  bool is_over_ = true;
  std::array<Task, 3> tasks_{};
  std::vector<std::size_t> joining_;  ///< They wait.
  int leaving_ = 0;                   ///< So many wait.
  std::int64_t pids_ = 0;
  std::set<std::int64_t> inside_;  ///< Processes in the namespace.
  std::set<std::string> lost_;     ///< Containers that ended by themselves.
  bool by_itself_ = false;
  bool may_be_left_ = false;
};

}  // namespace

std::optional<std::string> run_infra_world(std::uint64_t seed) {
  return run_world<InfraWorld>(seed);
}

}  // namespace nomad::test
