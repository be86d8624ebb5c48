#include "runtime/docker/health_machine.hpp"

#include "runtime/base/text.hpp"

namespace nomad::docker {
namespace {

constexpr auto health_time = std::chrono::seconds{5};
constexpr auto health_pause = std::chrono::seconds{1};
constexpr auto watch_success = std::chrono::minutes{1};

constexpr const char* not_there = "Failed to connect to docker daemon";

}  // namespace

void HealthMachine::ask_health(bool may_be_there) {
  if (presence_ == Presence::never && !may_be_there && !somebody_asks_)
    return act(health_action::TellAsked{{.description = not_there}});
  somebody_asks_ = true;
  if (state_ == State::idle || state_ == State::pause) look();
}

// -- answers --------------------------------------------------------------------------------------

void HealthMachine::answered(Round round, const EngineOutcome& outcome) {
  if (ends_wait(watch_round_, round)) return watch_ended();
  if (!is_current(round)) return;
  switch (state_) {
    case State::version:
      return got_version(outcome);
    case State::information:
      return got_information(outcome);
    case State::network:
      return got_network(outcome);
    default:
      return;  // The others ask the engine nothing.
  }
}

void HealthMachine::time_over(Round round) {
  if (ends_wait(watch_success_round_, round)) return watch_pauses_.reset();
  if (ends_wait(watch_pause_round_, round)) {
    watch();
    act(engine_action::Wait{watch_success_round_ = next_round(), watch_success});
    return;
  }
  if (is_current(round)) look();
}

// -- looking --------------------------------------------------------------------------------------

void HealthMachine::look() {
  state_ = State::version;
  ask({.target = "/version"}, health_time);
}

void HealthMachine::got_version(const EngineOutcome& outcome) {
  const auto version
      = outcome ? read_version(outcome->body) : Result<EngineVersion>{outcome.error()};
  if (!version) return failed(version.error().what);
  const auto api = choose_api(*version);
  if (!api) {
    if (is_there()) presence_ = Presence::gone;
    return finish({.detected = true, .description = api.error().what});
  }
  act(health_action::SetApi{*api});
  seen_ = {.detected = true,
           .healthy = true,
           .description = "Healthy",
           .attributes = traits_.attributes};
  seen_.attributes["driver.docker"] = "true";
  seen_.attributes["driver.docker.version"] = version->version;
  state_ = State::information;
  ask({.target = "/info"}, health_time);
}

void HealthMachine::got_information(const EngineOutcome& outcome) {
  const auto info = outcome ? read_info(outcome->body) : Result<EngineInfo>{outcome.error()};
  if (!info) return failed(info.error().what);
  if (info->cgroup_version == "2" && !traits_.is_root)
    return finish({.description = "Driver must run as root"});
  auto& attributes = seen_.attributes;
  attributes["driver.docker.runtimes"] = join(info->runtimes, ",");
  attributes["driver.docker.os_type"] = info->os_type;
  attributes["driver.docker.cgroup_driver"] = info->cgroup_driver;
  state_ = State::network;
  ask({.target = "/networks/bridge"}, health_time);
}

/// An engine without that network is healthy, too.
void HealthMachine::got_network(const EngineOutcome& outcome) {
  if (outcome) {
    auto bridge = read_bridge(outcome->body);
    if (!bridge.gateway.empty())
      seen_.attributes["driver.docker.bridge_ip"] = std::move(bridge.gateway);
    else
      seen_.bridge_interface = std::move(bridge.interface);
  }
  const bool came = !is_there();
  presence_ = Presence::there;
  finish(std::move(seen_));
  if (!came) return watch_soon();
  watch_pauses_.reset();
  watch_pause_round_ = 0;
  if (watch_round_ == 0) watch();
  act(health_action::TellCame{});
}

void HealthMachine::failed(const std::string& why) {
  if (is_there()) {
    act(engine_action::LogWarning{.text = "the engine is gone", .error = why});
    presence_ = Presence::gone;
  }
  finish({.detected = presence_ == Presence::gone, .description = not_there});
}

void HealthMachine::finish(EngineHealth health) {
  state_ = State::idle;
  const bool is_news = health != told_;
  told_ = health;
  if (std::exchange(somebody_asks_, false))
    act(health_action::TellAsked{std::move(health)});  // (1)
  else if (is_news)
    act(health_action::TellChange{std::move(health)});  // (2)
  if (presence_ != Presence::gone) return;
  state_ = State::pause;  // (3)
  wait(health_pause);
}

// -- the stream -----------------------------------------------------------------------------------

void HealthMachine::watch() {
  act(health_action::Watch{watch_round_ = next_round()});
}

/// (4) A stream that breaks off at once is not to keep us and the engine busy.
void HealthMachine::watch_soon() {
  if (watch_round_ == 0 && watch_pause_round_ == 0)
    act(engine_action::Wait{watch_pause_round_ = next_round(), watch_pauses_.next()});
}

void HealthMachine::watch_ended() {
  watch_success_round_ = 0;
  if (state_ == State::idle && is_there()) look();
}

}  // namespace nomad::docker
