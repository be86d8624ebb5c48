#include "runtime/docker/infra_machine.hpp"

#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace nomad::docker {
namespace {

constexpr auto name_pause_time = std::chrono::milliseconds{200};
constexpr auto infra_removal_pause = std::chrono::seconds{1};

}  // namespace

// -- orders ---------------------------------------------------------------------------------------

void InfraMachine::join(InfraSpec spec) {
  is_wanted_ = somebody_joins_ = true;
  const bool begins = state_ == State::resting || state_ == State::removal_pause;
  if (begins || is_leaving()) spec_ = std::move(spec);
  if (!begins) return;
  tries_ = 0;  // Those before were of its removal.
  look();
}

void InfraMachine::leave() {
  is_wanted_ = false;
  somebody_leaves_ = true;
  if (state_ == State::resting) find();
}

// -- answers --------------------------------------------------------------------------------------

void InfraMachine::answered(Round round, const EngineOutcome& outcome) {
  if (!is_current(round)) return;
  switch (state_) {
    case State::looking:
      return looked(outcome);
    case State::replacing:
      if (breaks_off()) return;
      if (!outcome && is_away(outcome.error())) return fail(outcome);
      return make();
    case State::making:
      return made(outcome);
    case State::starting:
      if (breaks_off()) return;
      return outcome ? inspect() : fail(outcome);
    case State::inspecting:
      return inspected(outcome);
    case State::finding:
      return found(outcome);
    case State::removing:
      return removed(outcome);
    default:
      return;  // The others ask the engine nothing.
  }
}

void InfraMachine::compared(Round round, bool is_inside) {
  if (!is_current(round) || breaks_off()) return;
  if (is_inside) return tell_joined(container_, false);
  if (state_ == State::comparing_found) return replace();
  judge_entry();
}

void InfraMachine::time_over(Round round) {
  if (!is_current(round)) return;
  if (state_ == State::removal_pause) return find();
  if (breaks_off()) return;
  if (state_ == State::name_pause) return look();
  if (state_ == State::entry_pause) inspect();
}

// -- joining --------------------------------------------------------------------------------------

bool InfraMachine::is_ours(const Container& container) const {
  return label_of(container, label::agent) == traits_.agent;
}

void InfraMachine::go(State state, EngineRequest request) {
  state_ = state;
  ask(std::move(request));
}

void InfraMachine::look() {
  container_.clear();
  go(State::looking, inspection_of(traits_.name));
}

void InfraMachine::looked(const EngineOutcome& outcome) {
  if (breaks_off()) return;
  const auto container = container_of(outcome);
  if (!container && container.error().code == Errc::not_found) return make();
  if (!container) return fail(outcome ? EngineOutcome{container.error()} : outcome);
  if (!is_ours(*container))
    return tell_joined(
        Error{Errc::conflict, fmt::format("container {} is another agent's", traits_.name)}, false);
  container_ = container->id;
  if (!container->running) return replace();
  compare(State::comparing_found, *container);
}

/// By its id: the name may be another one's when a slow engine comes to it.
void InfraMachine::replace() {
  go(State::replacing, removal_of(std::exchange(container_, {})));
}

void InfraMachine::make() {
  ++tries_;
  go(State::making, creation_of(traits_.name, boost::json::serialize(infra_body(spec_))));
}

void InfraMachine::made(const EngineOutcome& outcome) {
  const auto made = outcome ? read_created(outcome->body) : Result<std::string>{outcome.error()};
  if (made) container_ = *made;
  if (breaks_off()) return;
  if (!made && made.error().code == Errc::conflict && tries_ < name_tries) {
    state_ = State::name_pause;
    return wait(name_pause_time);
  }
  if (!made) return fail(outcome ? EngineOutcome{made.error()} : outcome);
  tries_ = 0;
  entry_pauses_.reset();
  go(State::starting, {.method = "POST", .target = container_path(container_) + "/start"});
}

void InfraMachine::inspect() {
  go(State::inspecting, inspection_of(container_));
}

void InfraMachine::inspected(const EngineOutcome& outcome) {
  if (breaks_off()) return;
  const auto container = container_of(outcome);
  if (!container) return fail(outcome ? EngineOutcome{container.error()} : outcome);
  compare(State::comparing, *container);
}

void InfraMachine::compare(State state, const Container& container) {
  state_ = state;
  seen_ = container;
  act(infra_action::Compare{next(), container.running ? container.pid : 0,
                            spec_.network_namespace});
}

void InfraMachine::judge_entry() {
  if (seen_.running && ++tries_ < entry_looks) {
    state_ = State::entry_pause;
    return wait(entry_pauses_.next());
  }
  tell_joined(
      Error{Errc::rejected,
            fmt::format("container {} did not enter the group's network{}: its exit code is {}",
                        traits_.name, seen_.running ? " in time" : "", seen_.exit_code)},
      false);
}

void InfraMachine::fail(const EngineOutcome& outcome) {
  tell_joined(outcome.error(), is_away(outcome.error()) || outcome.refusal.may_pass());
}

void InfraMachine::tell_joined(const Result<std::string>& container, bool may_pass) {
  state_ = State::resting;
  tries_ = 0;
  somebody_joins_ = false;
  act(infra_action::TellJoined{container, may_pass});
  tell_left();
}

// -- leaving --------------------------------------------------------------------------------------

/// (3)
bool InfraMachine::breaks_off() {
  if (is_wanted_) return false;
  find();
  return true;
}

void InfraMachine::find() {
  tries_ = is_leaving() ? tries_ + 1 : 1;
  if (!container_.empty()) return remove();
  go(State::finding, inspection_of(traits_.name));
}

void InfraMachine::found(const EngineOutcome& outcome) {
  const auto container = container_of(outcome);
  if (!container && container.error().code != Errc::not_found)
    return not_removed(container.error());
  if (!container || !is_ours(*container)) return left();
  container_ = container->id;
  remove();
}

void InfraMachine::remove() {
  go(State::removing, removal_of(container_));
}

void InfraMachine::removed(const EngineOutcome& outcome) {
  if (!outcome && outcome.error().code != Errc::not_found) return not_removed(outcome.error());
  left();
}

/// (5)
void InfraMachine::not_removed(const Error& why) {
  if (tries_ >= removal_tries) {
    // Who tidies up later finds it by its labels.
    act(infra_action::LogWarning{
        .text = "the container is left", .error = why.what, .container = traits_.name});
    return left();
  }
  if (is_wanted_) return left();  // Whoever joins looks for it.
  tell_left();
  state_ = State::removal_pause;
  wait(infra_removal_pause);
}

void InfraMachine::tell_left() {
  if (std::exchange(somebody_leaves_, false)) act(infra_action::TellLeft{});
}

void InfraMachine::left() {
  state_ = State::resting;
  tries_ = 0;
  container_.clear();
  if (somebody_joins_ && !is_wanted_)
    tell_joined(Error{Errc::cancelled, "the task left its group's network meanwhile"}, false);
  tell_left();
  if (is_wanted_) return look();  // (4)
  act(infra_action::End{});
}

}  // namespace nomad::docker
