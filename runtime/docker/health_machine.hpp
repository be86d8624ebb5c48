// HealthMachine: decides how the container engine is: looked at when somebody asks, and told when
// it goes or comes. While it is there, one stream of its events stays open, whose end is its end.
//
// (1) Everybody who asks is answered, by the look that is under way if there is one.
// (2) A change that nobody has asked for is told once.
// (3) An engine that was there is looked for each second until it comes back; one that never was is
//     looked at only when somebody asks.
// (4) One stream is open at a time. One that ends while the engine is there is opened again after a
//     pause that grows, until a stream has lasted.
//
// clang-format off
//
//   idle ─▶ version ─▶ information ─▶ network ─▶ idle (healthy; the stream is opened)
//    ▲         └────────────┴─ no answer ─▶ idle (never there) or pause ─▶ version
//    └── the stream ends ─▶ version
//
// clang-format on
//
// May depend on: runtime/base.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "runtime/base/back_off.hpp"
#include "runtime/docker/engine_machine.hpp"

namespace nomad::docker {

/// How the engine is, as a driver says it.
struct EngineHealth {
  bool detected = false;
  bool healthy = false;
  std::string description{};
  std::map<std::string, std::string> attributes{};
  /// Has the attribute driver.docker.bridge_ip, where containers find this machine, if the engine
  /// did not say it.
  std::string bridge_interface{};

  bool operator==(const EngineHealth&) const = default;
};

namespace health_action {

using engine_action::Ask;
using engine_action::LogWarning;
using engine_action::Round;
using engine_action::Wait;

/// By which version of its API the engine is asked from now on.
struct SetApi {
  std::string api;
};

/// Open a stream of events. Of the daemon itself there is nearly never one: what counts is that it
/// is open. Answer: `answered`, when it has ended.
struct Watch {
  Round round;
};

/// To all who have asked since the last time.
struct TellAsked {
  EngineHealth health;
};

/// To whoever has the driver, who has not asked.
struct TellChange {
  EngineHealth health;
};

/// The engine was not there, or nobody knew; now it is.
struct TellCame {};

}  // namespace health_action

using HealthAction = std::variant<health_action::Ask,
                                  health_action::Wait,
                                  health_action::LogWarning,
                                  health_action::SetApi,
                                  health_action::Watch,
                                  health_action::TellAsked,
                                  health_action::TellChange,
                                  health_action::TellCame>;

/// What never changes of an agent.
struct HealthTraits {
  bool is_root = true;
  std::map<std::string, std::string> attributes{};  ///< Of each healthy engine.
};

class HealthMachine : public EngineMachine<HealthAction> {
public:
  explicit HealthMachine(HealthTraits traits) : traits_{std::move(traits)} {}

  /// Somebody wants to know. `may_be_there`: the engine's socket is; an engine that never was there
  /// is not asked without.
  void ask_health(bool may_be_there);

  // Answers to actions.

  void answered(Round round, const EngineOutcome& outcome);
  void time_over(Round round);

  bool is_there() const { return presence_ == Presence::there; }

private:
  enum class State : std::uint8_t { idle, version, information, network, pause };
  enum class Presence : std::uint8_t { never, gone, there };

  void look();
  void got_version(const EngineOutcome& outcome);
  void got_information(const EngineOutcome& outcome);
  void got_network(const EngineOutcome& outcome);
  void failed(const std::string& why);
  void finish(EngineHealth health);

  void watch();
  void watch_soon();
  void watch_ended();

  HealthTraits traits_;
  State state_ = State::idle;
  Presence presence_ = Presence::never;
  EngineHealth seen_{};  ///< By the look that is under way.
  EngineHealth told_{};  ///< The newest.
  bool somebody_asks_ = false;
  Round watch_round_ = 0;  ///< Of the stream; 0: there is none. So the others.
  Round watch_pause_round_ = 0;
  Round watch_success_round_ = 0;  ///< A stream that lasts until then makes the next pause short.
  BackOff watch_pauses_{std::chrono::seconds{1}, std::chrono::minutes{1}};
};

}  // namespace nomad::docker
