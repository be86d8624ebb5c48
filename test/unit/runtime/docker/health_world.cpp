#include "test/unit/runtime/docker/health_world.hpp"

#include <set>

#include "runtime/base/overloaded.hpp"
#include "runtime/docker/health_machine.hpp"
#include "test/unit/runtime/docker/engine_world.hpp"

namespace nomad::test {
namespace {

namespace health = docker::health_action;

class HealthWorld : public EngineWorld {
public:
  explicit HealthWorld(std::uint64_t seed) : EngineWorld{seed} {}

  void step() {
    const auto dice = random_.below(100);
    if (dice < 80)
      something_comes(/*may_fail=*/true);
    else if (dice < 86)
      ask_health();
    else if (dice < 92)
      is_away_ = !is_away_;
    else
      say_nonsense();
    carry_out();
  }

  /// Nobody asks any more; what happens is told all the same.
  void drain() {
    is_away_ = false;
    settle();
    ask_health();
    settle();
    require(asking_ == 0, "whoever asks is answered");
    require(said_.healthy && streams_.size() == 1,
            "an engine that is there is healthy and watched");
    is_away_ = true;
    settle();
    require(said_.detected && !said_.healthy, "an engine's going is told");
    is_away_ = false;
    settle();
    require(said_.healthy, "an engine's coming is told");
  }

private:
  void ask_health() {
    ++asking_;
    machine_.ask_health(!is_away_ || random_.chance(0.5));
    carry_out();
  }

  void settle() {
    for (int i = 0; i < 200; ++i) {
      something_comes(/*may_fail=*/false);
      carry_out();
    }
  }

  void hear_answer(Round round, const docker::EngineOutcome& outcome) override {
    questions_.erase(round);
    streams_.erase(round);
    machine_.answered(round, outcome);
  }

  void hear_time(Round round) override { machine_.time_over(round); }

  bool wants_nothing() override { return machine_.take().empty(); }

  void carry_out() {
    for (const auto& action : machine_.take())
      std::visit(Overloaded{[this](const health::Ask& it) {
                              questions_.insert(it.round);
                              perform(it);
                            },
                            [this](const health::Wait& it) { perform(it); },
                            [this](const health::Watch& it) {
                              streams_.insert(it.round);
                              ask_later(it.round, {.target = "/events"});
                            },
                            [this](const health::TellAsked& it) {
                              require(std::exchange(asking_, 0) > 0,
                                      "only those that ask are answered");
                              note_said(it.health);
                            },
                            [this](const health::TellChange& it) {
                              require(said_ != it.health, "a change is told once");
                              note_said(it.health);
                            },
                            [this](const health::TellCame&) {
                              require(!std::exchange(is_there_, true),
                                      "an engine comes that was not there");
                            },
                            [](const auto&) {}},
                 action);
    require(questions_.size() <= 1, "there is one question at a time");
    require(streams_.size() <= 1, "one stream is open");
    require(is_there_ == said_.healthy, "an engine that comes is told to have come");
  }

  void note_said(const docker::EngineHealth& health) {
    said_ = health;
    if (!health.healthy) is_there_ = false;
  }

  docker::HealthMachine machine_{docker::HealthTraits{}};
  docker::EngineHealth said_;
  int asking_ = 0;
  bool is_there_ = false;
  std::set<Round> questions_, streams_;
};

}  // namespace

std::optional<std::string> run_health_world(std::uint64_t seed) {
  return run_world<HealthWorld>(seed);
}

}  // namespace nomad::test
