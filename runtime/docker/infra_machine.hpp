// InfraMachine: decides what happens to the container that holds the network of one allocation's
// group. The namespace was made for the allocation, as for all drivers; an engine lets a container
// join no namespace but another container's. So there is one for each allocation, whose process
// enters the namespace and waits (`nomadctl-executor pause`); the tasks' containers join its
// network.
//
// It is made with the first task that needs it, and removed with the last.
//
// (1) Whoever joins is told of a container that ran, and was in the namespace, a moment ago: those
//     that join earlier would be in another one.
// (2) A container that has our name is taken if it is (1), left alone if it is another agent's, and
//     is else replaced.
// (3) The last order counts: once it is `leave`, a join is broken off, and what was made, or may
//     have been, is removed. A create that is under way is waited for.
// (4) Who joins while the container is removed gets another one.
// (5) Who leaves is told after one attempt to remove it; thirty are made.
//
// clang-format off
//
//   resting ─join─▶ looking ─none──────────────────────────────▶ making ─▶ starting ─▶ inspecting ◀─▶ comparing ─▶ resting
//                    │  ▲ └─ours, runs─▶ comparing_found ─▶ resting  │                          entry_pause
//                    │  └────────── name_pause ◀──the name is taken──┘
//                    └──ours, but not (1)─▶ replacing ─▶ making
//
//   resting ─leave─▶ finding (what may be there) ─▶ removing ◀─▶ removal_pause
//                                                      └──▶ over, or looking again (4)
//
// clang-format on
//
// May depend on: runtime/base.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

#include "runtime/base/back_off.hpp"
#include "runtime/docker/container_body.hpp"
#include "runtime/docker/engine_machine.hpp"

namespace nomad::docker {

namespace infra_action {

using engine_action::Ask;
using engine_action::LogWarning;
using engine_action::Round;
using engine_action::Wait;
using engine_action::Withdraw;

/// Whether the process is in the namespace. Answer: `compared`.
struct Compare {
  Round round;
  std::int64_t pid;
  std::string network_namespace;
};

/// To all who have joined, and were not told yet: the container's id; without one, whether another
/// try may do.
struct TellJoined {
  Result<std::string> container;
  bool may_pass;
};

/// To all who have left, and were not told yet.
struct TellLeft {};

/// Nothing is left, and nothing will be asked any more, unless somebody joins.
struct End {};

}  // namespace infra_action

using InfraAction = std::variant<infra_action::Ask,
                                 infra_action::Withdraw,
                                 infra_action::Wait,
                                 infra_action::LogWarning,
                                 infra_action::Compare,
                                 infra_action::TellJoined,
                                 infra_action::TellLeft,
                                 infra_action::End>;

/// What never changes of an allocation's container.
struct InfraTraits {
  std::string name;   ///< infra_name().
  std::string agent;  ///< Of the label.
};

class InfraMachine : public EngineMachine<InfraAction> {
public:
  static constexpr int name_tries = 5;
  static constexpr int entry_looks = 25;
  static constexpr int removal_tries = 30;

  explicit InfraMachine(InfraTraits traits) : traits_{std::move(traits)} {}

  // Orders.

  void join(InfraSpec spec);
  /// No task of the allocation needs it any more.
  void leave();

  // Answers to actions.

  void answered(Round round, const EngineOutcome& outcome);
  void compared(Round round, bool is_inside);
  void time_over(Round round);

private:
  enum class State : std::uint8_t {
    resting,
    looking,
    comparing_found,
    replacing,
    name_pause,
    making,
    starting,
    inspecting,
    comparing,
    entry_pause,
    finding,
    removing,
    removal_pause,
  };

  // joining
  void look();
  void looked(const EngineOutcome& outcome);
  void replace();
  void make();
  void made(const EngineOutcome& outcome);
  void inspect();
  void inspected(const EngineOutcome& outcome);
  void compare(State state, const Container& container);
  void judge_entry();
  void fail(const EngineOutcome& outcome);
  void tell_joined(const Result<std::string>& container, bool may_pass);

  // leaving
  bool is_leaving() const { return state_ >= State::finding; }

  bool breaks_off();
  void find();
  void found(const EngineOutcome& outcome);
  void remove();
  void removed(const EngineOutcome& outcome);
  void not_removed(const Error& why);
  void tell_left();
  void left();

  bool is_ours(const Container& container) const;
  void go(State state, EngineRequest request);

  InfraTraits traits_;
  InfraSpec spec_{};
  State state_ = State::resting;
  std::string container_{};  ///< Its id, once it is known.
  bool is_wanted_ = false;   ///< The last order was to join.
  bool somebody_joins_ = false;
  bool somebody_leaves_ = false;
  int tries_ = 0;
  Container seen_{};  ///< As it was when it was compared.
  BackOff entry_pauses_{std::chrono::milliseconds{10}, std::chrono::milliseconds{500}};
};

}  // namespace nomad::docker
