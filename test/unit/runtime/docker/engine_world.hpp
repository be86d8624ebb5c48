// EngineWorld: what the random worlds of machines over a container engine have in common: an engine
// that is slow, dies, refuses, loses answers and gives some twice, and words that come in any
// order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/docker/engine_machine.hpp"
#include "test/support/fake_engine.hpp"

namespace nomad::test {

/// What must be true in a world is not.
struct Broken : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* what) {
  if (!holds) throw Broken{what};
}

inline Error engine_away() {
  return {Errc::unavailable, "cannot connect to the Docker daemon"};
}

/// Runs a world to its end, after which nothing may be left. What was not as it must be.
template <class World>
std::optional<std::string> run_world(std::uint64_t seed) {
  try {
    World world{seed};
    for (auto steps = Random{seed}.below(600); steps > 0; --steps)
      world.step();
    world.drain();
    return {};
  } catch (const Broken& broken) {
    return broken.what();
  }
}

/// Of one machine at a time.
class EngineWorld {
public:
  using Round = docker::engine_action::Round;

  explicit EngineWorld(std::uint64_t seed) : random_{seed} {}

  virtual ~EngineWorld() = default;

protected:
  /// What the machine hears, and whether it wants nothing since.
  virtual void hear_answer(Round round, const docker::EngineOutcome& outcome) = 0;
  virtual void hear_time(Round round) = 0;
  virtual bool wants_nothing() = 0;

  /// Before the engine does what it was asked.
  virtual void arrives(const docker::EngineRequest&) {}

  // What the machine wants.

  void perform(const docker::engine_action::Ask& action) {
    ask_later(action.round, action.request);
  }

  void perform(const docker::engine_action::Withdraw& action) {
    std::erase_if(owed_, [&](const Owed& owed) { return owed.round == action.round; });
  }

  void perform(const docker::engine_action::Wait& action) {
    owe(action.round, [this, round = action.round](bool) { hear_time(round); });
  }

  void ask_later(Round round, const docker::EngineRequest& request) {
    owe(round, [this, round, request](bool may_fail) { ask_engine(round, request, may_fail); });
    owed_.back().question = request;
  }

  /// Somebody owes the machine a word.
  void owe(Round round, std::function<void(bool may_fail)> say) {
    newest_ = std::max(newest_, round);
    owed_.push_back({round, std::move(say), {}});
  }

  bool is_owed() const { return !owed_.empty(); }

  /// One of the words comes.
  void something_comes(bool may_fail) {
    if (owed_.empty()) return;
    const auto index = static_cast<std::ptrdiff_t>(random_.below(owed_.size()));
    const auto owed = owed_[static_cast<std::size_t>(index)];
    owed_.erase(owed_.begin() + index);
    const bool is_again = !owed.question && !heard_.insert(owed.round).second;
    owed.say(may_fail);
    if (is_again) require(wants_nothing(), "nobody takes a lost word");
  }

  /// An answer to something that was never asked, or answered long ago.
  void say_nonsense() {
    const auto round = heard_.empty() || random_.chance(0.3) ? newest_ + 50 : *heard_.begin();
    if (random_.chance(0.5))
      hear_time(round);
    else
      hear_answer(round,
                  docker::judged(random_.chance(0.5) ? docker::EngineAnswer{201, R"({"Id":"x"})"}
                                                     : engine_refusal(404, "nonsense")));
    require(wants_nothing(), "an answer that comes twice does nothing");
  }

  /// The agent dies: nobody hears an answer any more, but some questions are with the engine.
  void lose_words() {
    for (auto& owed : std::exchange(owed_, {}))
      if (owed.question && !is_away_ && random_.chance(0.5)) ask(*owed.question);
    heard_.clear();
    newest_ = 0;
  }

  Random random_;
  FakeEngine engine_;
  bool is_away_ = false;

private:
  struct Owed {
    Round round;
    std::function<void(bool may_fail)> say;
    std::optional<docker::EngineRequest> question;  ///< Not yet with the engine.
  };

  std::optional<docker::EngineAnswer> ask(const docker::EngineRequest& request) {
    arrives(request);
    return engine_.answer(request);
  }

  void answer(Round round, const docker::EngineOutcome& outcome) {
    owe(round, [this, round, outcome](bool) { hear_answer(round, outcome); });
  }

  void ask_engine(Round round, const docker::EngineRequest& request, bool may_fail) {
    if (is_away_) return answer(round, {engine_away()});
    if (may_fail && random_.chance(0.03))
      return answer(round, docker::judged(engine_refusal(500, "no luck")));
    const bool is_lost = may_fail && random_.chance(0.04);
    if (is_lost && random_.chance(0.5)) return answer(round, {engine_away()});
    const auto said = ask(request);
    if (is_lost) return answer(round, {engine_away()});
    if (!said) return ask_later(round, request);
    answer(round, docker::judged(*said));
    if (may_fail && random_.chance(0.1)) owed_.push_back(owed_.back());  // twice
  }

  std::vector<Owed> owed_;
  std::set<Round> heard_;
  Round newest_ = 0;
};

}  // namespace nomad::test
