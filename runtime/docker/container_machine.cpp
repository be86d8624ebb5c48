#include "runtime/docker/container_machine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::docker {

using namespace container_action;
using namespace std::chrono_literals;

namespace {

constexpr auto look_time = 10s;
constexpr auto remove_time = 60s;
constexpr auto for_ever = 0ms;

constexpr Nanoseconds look_pause = 1s;
constexpr Nanoseconds first_start_pause = 50ms;
constexpr Nanoseconds kill_pause = 10s;

workload::ExitResult exit_of(const Container& container) {
  workload::ExitResult result{
      .code = container.exit_code, .signal = 0, .oom_killed = container.oom_killed};
  if (result.oom_killed)
    result.error = "OOM Killed";
  else if (result.code != 0)
    result.error = fmt::format("Docker container exited with non-zero exit code: {}", result.code);
  if (!container.error.empty()) result.error += ": " + container.error;
  return result;
}

}  // namespace

// -- small ones -----------------------------------------------------------------------------------

ContainerMachine::Stage ContainerMachine::stage() const {
  if (state_ >= State::finding) return Stage::ending;
  if (state_ == State::ended) return Stage::ended;
  return is_running() ? Stage::running : Stage::starting;
}

bool ContainerMachine::may_join_network() const {
  return !was_left_ && state_ != State::leaving
         && (start_.joins_network || state_ == State::looking);
}

// -- answers --------------------------------------------------------------------------------------

void ContainerMachine::answered(Round round, const EngineOutcome& outcome) {
  if (round == 0) return;
  if (round == stop_round_) {
    stop_round_ = 0;
    if (!outcome && is_away(outcome.error())) act(Wait{stop_round_ = next_round(), look_pause});
    return;
  }
  if (!is_current(round)) return;
  switch (state_) {
    case State::creating:
      return created(outcome);
    case State::name_taken:
      return judge_name(outcome);
    case State::clearing_name:
      return create_again();
    case State::starting:
      return container_started(outcome);
    case State::inspecting:
      return inspected(outcome);
    case State::looking:
      return looked(outcome);
    case State::running:  // Whatever the answer was: how the container is, says the container.
      return look_again();
    case State::looking_again:
      return judge_end(outcome);
    case State::finding:
      return found(outcome);
    case State::removing:
      return removed(outcome);
    default:
      return;  // The others ask the engine nothing.
  }
}

void ContainerMachine::ready(Round round, const Result<std::string>& what, bool may_pass) {
  if (!is_current(round)) return;
  const bool is_network = state_ == State::network;
  if (!what)
    return fail(
        is_network ? what.error().within("failed to join the group's network") : what.error(),
        may_pass);
  if (state_ == State::image) return got_image(*what);
  if (is_network) return prepare(*what);
  body_ = *what;
  tries_ = 0;
  create();
}

void ContainerMachine::time_over(Round round) {
  if (round == 0) return;
  if (round == stop_round_) return ask_to_stop();
  if (round == kill_round_) return kill();
  if (!is_current(round)) return;
  switch (state_) {
    case State::create_pause:
      return create();
    case State::starting:
      return start_container();
    case State::looking:
      return look();
    case State::running:
      return watch();
    case State::looking_again:
      return look_again();
    case State::finding:
      return find();
    case State::removing:
      return remove();
    default:
      return;  // The others wait for no time.
  }
}

void ContainerMachine::done(Round round, const Result<>& outcome) {
  if (ends_wait(logs_round_, round)) return tell_end();
  if (!is_current(round)) return;
  if (state_ == State::opening_logs)
    logs_opened(outcome);
  else if (state_ == State::forgetting_logs)
    leave();
  else
    left();
}

// -- starting -------------------------------------------------------------------------------------

void ContainerMachine::start(ContainerStart start) {
  start_ = std::move(start);
  for (const auto& [label, port] : start_.port_map)
    network_.port_map[label] = static_cast<int>(port);
  state_ = State::image;
  act(GetImage{next()});
}

void ContainerMachine::got_image(const std::string& image) {
  // By its name, as Nomad: the engine shows that to people.
  image_ = start_.image.empty() ? image : start_.image;
  if (!start_.joins_network) return prepare({});
  state_ = State::network;
  act(JoinNetwork{next(), image_});
}

void ContainerMachine::prepare(const std::string& network_container) {
  state_ = State::preparing;
  act(Prepare{next(), image_, network_container});
}

void ContainerMachine::create() {
  state_ = State::creating;
  ++tries_;
  ask(creation_of(traits_.name, body_));
}

void ContainerMachine::created(const EngineOutcome& outcome) {
  const auto made = outcome ? read_created(outcome->body) : Result<std::string>{outcome.error()};
  if (made) container_ = *made;
  if (failure_ || is_destroyed_) return wind_up();  // By orders that came meanwhile.
  if (made) {
    if (!start_.keeps_logs) return logs_opened({});
    state_ = State::opening_logs;
    return act(OpenLogs{next()});
  }
  const auto& why = made.error();
  if (why.code == Errc::conflict && tries_ < start_tries) {
    state_ = State::name_taken;
    return ask(inspection_of(traits_.name));
  }
  if (outcome.refusal.may_pass() && tries_ < start_tries) return create_again();
  const bool may_pass = is_away(why) || why.code == Errc::not_found
                        || outcome.refusal.kind == EngineError::Kind::volume_elsewhere;
  fail(why.within("failed to create container"), may_pass);
}

/// Before it writes something, for a later agent is to know where that goes.
void ContainerMachine::logs_opened(const Result<>& outcome) {
  has_logs_ = start_.keeps_logs && outcome;
  if (!outcome) act(TellUser{"logs are not kept: " + outcome.error().what});
  tries_ = 0;
  start_container();
}

void ContainerMachine::create_again() {
  state_ = State::create_pause;
  wait(first_start_pause * (1 << tries_));
}

/// (2) A container of an earlier try, or of an earlier agent, has the name.
void ContainerMachine::judge_name(const EngineOutcome& outcome) {
  const auto container = container_of(outcome);
  if (!container) return create_again();
  const auto owner = label_of(*container, label::agent);
  const bool is_ours = owner == traits_.agent;
  if (is_ours && label_of(*container, label::run) == run_id() && container->status != "created")
    return adopt(*container);
  if (!owner.empty() && !is_ours)
    return fail({Errc::conflict, fmt::format("container {} is another agent's", container->name)},
                /*recoverable=*/false);
  state_ = State::clearing_name;
  // By its id: the name may be another one's when a slow engine comes to it.
  ask(removal_of(container->id));
}

void ContainerMachine::start_container() {
  state_ = State::starting;
  ++tries_;
  ask({.method = "POST", .target = container_path(container_) + "/start"});
}

void ContainerMachine::container_started(const EngineOutcome& outcome) {
  if (outcome) {
    state_ = State::inspecting;
    return ask(inspection_of(container_));
  }
  const bool passes = outcome.refusal.may_pass();
  if (passes && tries_ < start_tries) return wait(first_start_pause * (1 << tries_));
  const auto& why = outcome.error();
  fail(why.within("Failed to start container " + container_), passes || is_away(why));
}

void ContainerMachine::inspected(const EngineOutcome& outcome) {
  const auto container = container_of(outcome);
  if (!container)
    return fail(container.error().within("failed to inspect started container " + container_),
                /*recoverable=*/true);
  run(*container);
}

void ContainerMachine::fail(Error err, bool recoverable) {
  failure_ = {std::move(err), recoverable};
  wind_up();
}

// -- finding what runs ----------------------------------------------------------------------------

void ContainerMachine::recover(std::string run_id, const std::string& container) {
  start_.run_id = std::move(run_id);
  container_ = container.empty() ? traits_.name : container;
  state_ = State::looking;
  look();
}

void ContainerMachine::look() {
  ++tries_;
  ask(inspection_of(container_), look_time);
}

/// An engine that is away may come back, and have the container still.
void ContainerMachine::looked(const EngineOutcome& outcome) {
  const bool may_pass = !outcome && (is_away(outcome.error()) || outcome.refusal.may_pass());
  if (may_pass && tries_ < look_tries) return wait(look_pause);
  const auto container = container_of(outcome);
  container_.clear();
  if (!container) return fail(container.error(), /*recoverable=*/false);
  const auto found = label_of(*container, label::run);
  if (label_of(*container, label::agent) != traits_.agent || container->name != traits_.name
      || found.empty() || (!run_id().empty() && found != run_id()))
    return fail({Errc::not_found, "no container of this run is there"}, /*recoverable=*/false);
  if (container->status != "created") return adopt(*container);
  container_ = container->id;
  fail({Errc::not_found, "its container was never started"}, /*recoverable=*/false);
}

/// An earlier agent, or an earlier try, has started it.
void ContainerMachine::adopt(const Container& container) {
  container_ = container.id;
  start_.run_id = label_of(container, label::run);
  start_.joins_network = container.network_mode.starts_with("container:");
  act(AdoptImage{container.image});
  has_logs_ = true;
  run(container);
}

void ContainerMachine::run(const Container& container) {
  for (const auto& network : container.networks) {
    if (network.address.empty()) continue;
    network_.ip = start_.advertises_ipv6 ? network.address6 : network.address;
    network_.auto_advertise
        = start_.advertises_ipv6 || (network.name != "bridge" && network.name != "nat");
    break;
  }
  act(TellRunning{});
  if (has_logs_) act(BeginLogs{container.tty});
  watch();
}

// -- its end --------------------------------------------------------------------------------------

void ContainerMachine::watch() {
  state_ = State::running;
  ask({.method = "POST", .target = container_path(container_) + "/wait?condition=not-running"},
      for_ever);
}

void ContainerMachine::look_again() {
  state_ = State::looking_again;
  ask(inspection_of(container_));
}

/// (5)
void ContainerMachine::judge_end(const EngineOutcome& outcome) {
  if (!outcome && outcome.error().code == Errc::not_found)
    return end({.code = 1, .error = "its container was removed"});
  const auto container = container_of(outcome);
  // The engine is away, or has not found itself yet.
  if (!container) return wait(look_pause);
  if (!container->running) return end(exit_of(*container));
  state_ = State::running;
  wait(look_pause);
}

/// What it has written is to be in its files when its end is heard of, if the engine gives it out.
void ContainerMachine::end(workload::ExitResult result) {
  state_ = State::ended;
  result_ = std::move(result);
  stop_round_ = kill_round_ = 0;
  if (!has_logs_) return tell_end();
  act(EndLogs{logs_round_ = next_round()});
}

void ContainerMachine::tell_end() {
  act(TellExited{*result_});
}

// -- orders ---------------------------------------------------------------------------------------

bool ContainerMachine::stop(const std::string& signal, Nanoseconds grace) {
  if (is_running()) {
    stop_signal_ = signal;
    stop_grace_ = std::max(grace, Nanoseconds{0});
    ask_to_stop();
    // The engine kills by itself after the time, if it was asked to stop.
    act(Wait{kill_round_ = next_round(), stop_grace_ + (signal.empty() ? kill_pause : 0s)});
    return true;
  }
  if (state_ == State::ended) return true;
  if (state_ == State::looking || stage() == Stage::ending) return false;
  Failure stopped{{Errc::cancelled, "the task was stopped while it was started"}, false};
  failure_ = std::move(stopped);
  if (state_ != State::creating) wind_up();
  return true;
}

void ContainerMachine::ask_to_stop() {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(stop_grace_);
  auto target = container_path(container_);
  target += stop_signal_.empty() ? fmt::format("/stop?t={}", seconds.count())
                                 : "/kill?signal=" + percent_encode(stop_signal_);
  act(Ask{stop_round_ = next_round(), {.method = "POST", .target = target}, seconds + 1min});
}

void ContainerMachine::kill() {
  act(Ask{0, {.method = "POST", .target = container_path(container_) + "/kill"}, engine_patience});
  act(Wait{kill_round_ = next_round(), kill_pause});
}

void ContainerMachine::destroy() {
  is_destroyed_ = true;
  const bool somebody_waits
      = stage() == Stage::starting || (stage() == Stage::ending && !was_left_);
  if (somebody_waits && state_ != State::idle)
    act(TellFailed{{Errc::cancelled, "the task was destroyed while it was looked for"}, false});
  if (state_ == State::creating) return;  // (3)
  is_removed_ = state_ == State::ended && !traits_.removes;
  if (state_ == State::looking) container_.clear();
  wind_up();
}

// -- nothing is to be left ------------------------------------------------------------------------

void ContainerMachine::wind_up() {
  if (state_ == State::running) act(Withdraw{round_});
  if (std::exchange(has_logs_, false)) act(CloseLogs{});
  stop_round_ = kill_round_ = logs_round_ = 0;
  act(ReleaseImage{});
  tries_ = 0;
  if (is_removed_)
    leave();
  else if (!container_.empty())
    remove();
  else if (!body_.empty() || is_destroyed_)
    find();
  else {
    is_removed_ = true;
    leave();
  }
}

/// (3) What was asked for may have been made, and be known to the engine alone; so may be what an
/// earlier agent has left.
void ContainerMachine::find() {
  state_ = State::finding;
  ++tries_;
  ask(inspection_of(traits_.name), look_time);
}

void ContainerMachine::found(const EngineOutcome& outcome) {
  const auto container = container_of(outcome);
  if (!container && container.error().code != Errc::not_found)
    return not_removed(container.error());
  if (container && label_of(*container, label::agent) == traits_.agent) {
    const auto run = label_of(*container, label::run);
    if (run_id().empty() ? spared_.empty() || run != spared_ : run == run_id()) {
      container_ = container->id;
      return remove();
    }
  }
  is_removed_ = true;
  leave();
}

void ContainerMachine::remove() {
  state_ = State::removing;
  ++tries_;
  ask(removal_of(container_), remove_time);
}

void ContainerMachine::removed(const EngineOutcome& outcome) {
  if (!outcome && outcome.error().code != Errc::not_found) return not_removed(outcome.error());
  is_removed_ = true;
  state_ = State::forgetting_logs;
  act(ForgetLogs{next()});
}

void ContainerMachine::not_removed(const Error& why) {
  if (tries_ >= remove_tries) {
    // Who tidies up later finds it by its labels.
    act(LogError{.text = "the container is left",
                 .container = container_.empty() ? traits_.name : container_,
                 .error = why.what});
    is_removed_ = true;
    return leave();
  }
  if (!is_destroyed_ && !was_left_) return leave();  // (4)
  wait(look_pause);
}

void ContainerMachine::leave() {
  if (was_left_ || (!start_.joins_network && !is_destroyed_)) return left();
  state_ = State::leaving;
  act(LeaveNetwork{next()});
}

void ContainerMachine::left() {
  if (!std::exchange(was_left_, true)) {
    if (is_destroyed_)
      act(TellDestroyed{});
    else
      act(TellFailed{failure_->error, failure_->recoverable});
  }
  if (is_removed_) {
    state_ = State::over;
    act(End{});
    return;
  }
  state_ = container_.empty() ? State::finding : State::removing;
  wait(look_pause);
}

}  // namespace nomad::docker
