#include "test/unit/runtime/docker/container_world.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/base/random.hpp"
#include "runtime/docker/container_machine.hpp"
#include "test/unit/runtime/docker/engine_world.hpp"

using namespace std::chrono_literals;

namespace nomad::test {

using namespace docker;
using namespace docker::container_action;

namespace {

/// An engine that is slow, dies, forgets, and answers twice, an agent that dies, and whoever
/// starts, stops and destroys the runs of one task, as a task's runner does. What must be true at
/// any moment is required where it could become false.
class ContainerWorld {
public:
  explicit ContainerWorld(std::uint64_t seed) : random_{seed} {
    engine_.images = {"busybox:1"};
    engine_.on_start = [this](const test::FakeContainer& container) { note_start(container); };
    engine_.on_end = [this](const test::FakeContainer& container) { note_end(container); };
    engine_.obeys = [this](const test::FakeContainer&) { return random_.chance(0.7); };
    joins_ = random_.chance(0.5);
    keeps_logs_ = random_.chance(0.5);
    if (random_.chance(0.2)) leave_foreign_container();
  }

  void step() {
    const auto dice = random_.below(100);
    if (dice < 75)
      something_comes(/*may_fail=*/true);
    else if (dice < 80)
      end_container();
    else if (dice < 82)
      is_away_ = !is_away_;
    else if (dice < 83)
      lose_container();
    else if (dice < 84)
      crash();
    else if (dice < 87)
      say_nonsense();
    else
      give_order();
    carry_out();
  }

  /// From now on nothing fails: the task is destroyed, and nothing of it is to be left.
  void drain() {
    is_away_ = false;
    if (foreign_) engine_.forget("web-a");
    foreign_ = false;
    for (int i = 0; i < 2'000; ++i) {
      if (owed_.empty() && machines_.empty() && engine_.containers.empty() && run_.empty()) break;
      if (run_.empty() && owed_.empty() && machines_.empty() && !engine_.containers.empty())
        destroy_left();
      if (!run_.empty() && !is_starting_ && !is_destroying_) destroy();
      carry_out();
      something_comes(/*may_fail=*/false);
      carry_out();
    }
    require(run_.empty(), "no run is left");
    require(machines_.empty(), "no machine is left");
    require(engine_.containers.empty(), "no container is left");
    require(!is_joined_, "the network is left");
  }

private:
  struct Machine {
    explicit Machine(std::uint64_t number)
        : number{number}, machine{{.name = "web-a", .agent = "us"}} {}

    std::uint64_t number;
    std::string run;
    ContainerMachine machine;
    bool is_over = false;
    bool is_recovery = false;
    bool was_started = false;  ///< By an order, or looked for.
    int told_start = 0;        ///< That it runs, or does not.
    Round newest = 0;
    std::set<Round> heard;
  };

  /// Somebody owes a machine a word.
  struct Owed {
    std::uint64_t machine;
    Round round;
    std::function<void(Machine&, bool may_fail)> say;
    bool is_question = false;  ///< To the engine, and not yet with it.
    EngineRequest request{};
  };

  // -- orders ------------------------------------------------------------------------------------

  Machine& current() { return *machines_.at(current_); }

  Machine& make_machine() {
    current_ = ++numbers_;
    return *(machines_[current_] = std::make_unique<Machine>(current_));
  }

  void give_order() {
    if (run_.empty()) return start();
    if (is_starting_ && random_.chance(0.7)) return;
    if (is_destroying_) return;
    switch (random_.below(4)) {
      case 0:
        return random_.chance(0.3) ? destroy() : void();
      case 1:
        return stop(random_.chance(0.5) ? "SIGINT" : "");
      default:
        if (exited_) destroy();
    }
  }

  void start() {
    run_ = fmt::format("run-{}", ++runs_);
    auto& machine = make_machine();
    machine.run = run_;
    machine.was_started = true;
    is_starting_ = true;
    exited_ = false;
    machine.machine.start(
        {.run_id = run_, .image = "busybox:1", .joins_network = joins_, .keeps_logs = keeps_logs_});
  }

  void stop(const std::string& signal) {
    if (!machines_.contains(current_)) return;
    asked_to_end_.insert(run_);
    current().machine.stop(signal, 5s);
  }

  void destroy() {
    asked_to_end_.insert(run_);
    is_destroying_ = true;
    if (!machines_.contains(current_)) return destroy_unknown();
    current().machine.destroy();
  }

  void destroy_unknown() {
    for (const auto& container : engine_.containers)
      asked_to_end_.insert(container.label(label::run));
    is_destroying_ = true;
    make_machine().machine.destroy();
  }

  /// Only an agent that died, and an engine that refused for too long, leave something.
  void destroy_left() {
    for (const auto& container : engine_.containers)
      require(may_be_left_.contains(container.label(label::run)), "what is left was given up");
    destroy_unknown();
  }

  void crash() {
    for (int run = 1; run <= runs_; ++run)
      may_be_left_.insert(fmt::format("run-{}", run));
    for (auto& owed : std::exchange(owed_, {}))
      if (owed.is_question && !is_away_ && random_.chance(0.5)) engine_.answer(owed.request);
    machines_.clear();
    is_joined_ = false;
    is_destroying_ = is_starting_ = false;
    if (run_.empty()) return;
    auto& machine = make_machine();
    machine.run = run_;
    is_starting_ = machine.was_started = machine.is_recovery = true;
    machine.machine.recover(run_, "");
  }

  // -- the engine --------------------------------------------------------------------------------

  void leave_foreign_container() {
    foreign_ = true;
    engine_.containers.push_back({.id = "f",
                                  .name = "web-a",
                                  .image = "busybox:1",
                                  .network_mode = {},
                                  .command = {},
                                  .labels = {{label::agent, "others"}}});
  }

  void end_container() {
    for (const auto& container : engine_.containers)
      if (container.is_running()) {
        asked_to_end_.insert(container.label(label::run));
        return engine_.end(container.id, static_cast<int>(random_.below(2)));
      }
  }

  void lose_container() {
    for (const auto& container : engine_.containers)
      if (container.name == "web-a" && !foreign_) {
        asked_to_end_.insert(container.label(label::run));
        lost_.insert(container.label(label::run));
        return engine_.forget(container.id);
      }
  }

  /// Each container is started once, while nothing else of the task runs.
  void note_start(const test::FakeContainer& container) {
    const auto run = container.label(label::run);
    for (const auto& other : engine_.containers)
      require(!other.is_running(), "one container runs");
    require(container.status == "created", "what is started was just created");
    require(container.label(label::agent) == "us", "only our containers are started");
    started_.insert(run);
  }

  /// Nothing that runs ends unless somebody wants it, or the start was given up.
  void note_end(const test::FakeContainer& container) {
    const auto run = container.label(label::run);
    ended_[run] = container.exit_code;
    const bool was_told = running_.contains(run);
    require(!was_told || asked_to_end_.contains(run), "what runs ends because somebody asked");
  }

  void ask_engine(Machine& machine, Round round, const EngineRequest& request, bool may_fail) {
    if (is_away_) return machine.machine.answered(round, {engine_away()});
    if (may_fail && random_.chance(0.03))
      return machine.machine.answered(round, judged(test::engine_refusal(500, "no luck")));
    const bool is_lost = may_fail && random_.chance(0.04);
    if (is_lost && random_.chance(0.5)) return machine.machine.answered(round, {engine_away()});
    const auto answer = engine_.answer(request);
    if (is_lost) return machine.machine.answered(round, {engine_away()});
    if (!answer) return ask_later(machine.number, round, request);
    const auto outcome = judged(*answer);
    owe(machine.number, round,
        [round, outcome](Machine& to, bool) { to.machine.answered(round, outcome); });
    if (may_fail && random_.chance(0.1)) owed_.push_back(owed_.back());  // twice
  }

  void ask_later(std::uint64_t machine, Round round, const EngineRequest& request) {
    owe(machine, round, [this, round, request](Machine& to, bool may_fail) {
      ask_engine(to, round, request, may_fail);
    });
    owed_.back().is_question = true;
    owed_.back().request = request;
  }

  // -- what the machines hear --------------------------------------------------------------------

  void owe(std::uint64_t machine, Round round, std::function<void(Machine&, bool)> say) {
    owed_.push_back({machine, round, std::move(say)});
  }

  void something_comes(bool may_fail) {
    if (owed_.empty()) return;
    const auto index = random_.below(owed_.size());
    const auto owed = owed_[index];
    owed_.erase(owed_.begin() + static_cast<std::ptrdiff_t>(index));
    const auto found = machines_.find(owed.machine);
    if (found == machines_.end()) return;
    owed.say(*found->second, may_fail);
    if (!owed.is_question && !found->second->heard.insert(owed.round).second)
      require(found->second->machine.take().empty(),
              "nobody takes a lost word");  // it was there already
  }

  /// An answer to something that was never asked, or answered long ago.
  void say_nonsense() {
    for (auto& [number, machine] : machines_) {
      const auto round = machine->heard.empty() || random_.chance(0.3) ? machine->newest + 50
                                                                       : *machine->heard.begin();
      const auto outcome = judged(random_.chance(0.5) ? EngineAnswer{201, R"({"Id":"nonsense"})"}
                                                      : test::engine_refusal(404, "nonsense"));
      switch (random_.below(4)) {
        case 0:
          machine->machine.ready(round, std::string{"nonsense"}, true);
          break;
        case 1:
          machine->machine.time_over(round);
          break;
        case 2:
          machine->machine.done(round);
          break;
        default:
          machine->machine.answered(round, outcome);
      }
      require(machine->machine.take().empty(), "an answer that comes twice does nothing");
    }
  }

  // -- what the machines want --------------------------------------------------------------------

  void carry_out() {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, machine] : machines_)
      numbers.push_back(number);
    for (const auto number : numbers)
      if (machines_.contains(number)) carry_out(*machines_.at(number));
  }

  void carry_out(Machine& machine) {
    const auto number = machine.number;
    for (auto actions = machine.machine.take(); !actions.empty(); actions = machine.machine.take())
      for (const auto& action : actions) {
        require(!machine.is_over, "a machine that is over says nothing");
        carry_out(machine, action);
      }
    if (machine.is_over) {
      require(machine.told_start == 1 || !machine.was_started, "a start is told once");
      machines_.erase(number);
    }
  }

  Round newest(Machine& machine, Round round) {
    require(round > machine.newest, "rounds rise");
    return machine.newest = round;
  }

  template <class Say>
  void answer_with(Machine& machine, Round round, Say say) {
    owe(machine.number, newest(machine, round), say);
  }

  /// Answers with what the test gives, or with an error now and then.
  void make_ready(Machine& machine, Round round, const std::string& what) {
    answer_with(machine, round, [this, round, what](Machine& to, bool may_fail) {
      const bool fails = may_fail && random_.chance(0.05);
      to.machine.ready(round, fails ? Result<std::string>{engine_away()} : what, true);
    });
  }

  void do_work(Machine& machine, Round round, bool may_fail) {
    answer_with(machine, round, [this, round, may_fail](Machine& to, bool world_fails) {
      const bool fails = may_fail && world_fails && random_.chance(0.1);
      to.machine.done(round, fails ? Result<>{engine_away()} : Result<>{});
    });
  }

  void leave_network(Machine& machine, Round round) {
    bool others = false;
    for (const auto& [number, other] : machines_)
      others |= number != machine.number && other->machine.may_join_network();
    if (!others) is_joined_ = false;
    do_work(machine, round, false);
  }

  void carry_out(Machine& machine, const ContainerAction& action) {
    std::visit(
        Overloaded{[&](const GetImage& it) { make_ready(machine, it.round, "sha256:1"); },
                   [&](const JoinNetwork& it) {
                     is_joined_ = true;
                     make_ready(machine, it.round, "n1");
                   },
                   [&](const LeaveNetwork& it) { leave_network(machine, it.round); },
                   [&](const Prepare& it) {
                     make_ready(machine, it.round, body_of(machine.run, it.network_container));
                   },
                   [&](const Ask& it) {
                     if (it.round != 0) newest(machine, it.round);
                     ask_later(machine.number, it.round, it.request);
                   },
                   [&](const Withdraw& it) {
                     std::erase_if(owed_, [&](const Owed& owed) {
                       return owed.machine == machine.number && owed.round == it.round;
                     });
                   },
                   [&](const Wait& it) {
                     answer_with(machine, it.round,
                                 [it](Machine& to, bool) { to.machine.time_over(it.round); });
                   },
                   [&](const OpenLogs& it) { do_work(machine, it.round, true); },
                   [&](const EndLogs& it) { do_work(machine, it.round, false); },
                   [&](const ForgetLogs& it) { do_work(machine, it.round, false); },
                   [&](const TellRunning&) { note_running(machine); },
                   [&](const TellFailed&) { note_failed(machine); },
                   [&](const TellExited& it) { note_exited(machine, it.result); },
                   [&](const TellDestroyed&) { note_destroyed(machine); },
                   [&](const LogError&) { may_be_left_.insert(machine.run); },
                   [&](const End&) { machine.is_over = true; }, [](const auto&) {}},
        action);
  }

  std::string body_of(const std::string& run, const std::string& network) const {
    return fmt::format(
        R"({{"Image":"busybox:1","Labels":{{"{}":"us","{}":"{}"}},"HostConfig":{{"NetworkMode":"{}"}}}})",
        label::agent, label::run, run, network.empty() ? "bridge" : "container:" + network);
  }

  void note_running(Machine& machine) {
    ++machine.told_start;
    machine.run = machine.machine.run_id();
    require(started_.contains(machine.run), "what is told to run was started");
    running_.insert(machine.run);
    if (joins_ && machine.machine.may_join_network()) is_joined_ = true;
    if (machine.number == current_) is_starting_ = false;
  }

  void note_failed(Machine& machine) {
    ++machine.told_start;
    require(machine.was_started, "what is not there was looked for");
    if (machine.number != current_ || is_destroying_) return;
    is_starting_ = false;
    if (machine.is_recovery) {
      const auto* const there = engine_.find("web-a");
      const bool may_be_found = there != nullptr && there->label(label::run) == machine.run
                                && there->status != "created";
      require(!may_be_found || machine.newest >= ContainerMachine::look_tries,
              "what may be there is looked for");
      asked_to_end_.insert(machine.run);
    }
    run_.clear();  // Another one is started, whatever is left of this one.
    current_ = 0;
  }

  /// Of this run, how it ended, and when it has.
  void note_exited(Machine& machine, const workload::ExitResult& result) {
    require(ended_.contains(machine.run), "what is told to have ended has ended");
    if (!lost_.contains(machine.run))
      require(result.code == ended_.at(machine.run), "the exit is the run's own");
    if (machine.number == current_) exited_ = true;
  }

  void note_destroyed(Machine& machine) {
    if (machine.number != current_) return;
    for (const auto& container : engine_.containers)
      require(container.label(label::run) != run_ || run_.empty() || is_given_up(machine),
              "nothing of a run is left that was not given up");
    is_destroying_ = is_starting_ = false;
    run_.clear();
    current_ = 0;
  }

  /// The engine has refused often enough.
  static bool is_given_up(const Machine& machine) { return machine.newest > 30; }

  Random random_;
  test::FakeEngine engine_;
  bool is_away_ = false;
  bool foreign_ = false;  ///< Another agent's container has the name.
  bool joins_ = false;
  bool is_joined_ = false;  ///< There is a container of the network.
  bool keeps_logs_ = false;

  std::map<std::uint64_t, std::unique_ptr<Machine>> machines_;
  std::uint64_t numbers_ = 0;
  std::uint64_t current_ = 0;
  std::vector<Owed> owed_;

  std::string run_;  ///< Of the task; empty: there is none.
  int runs_ = 0;
  bool is_starting_ = false, is_destroying_ = false, exited_ = false;
  std::set<std::string> started_, running_, asked_to_end_, lost_, may_be_left_;
  std::map<std::string, int> ended_;
};

}  // namespace

std::optional<std::string> run_container_world(std::uint64_t seed) {
  return run_world<ContainerWorld>(seed);
}

}  // namespace nomad::test
