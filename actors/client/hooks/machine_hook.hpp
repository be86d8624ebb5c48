// MachineHook: what hooks of tasks and groups have in common whose decisions are a machine's
// (events in, actions out): phases become events, actions are carried out in turn, and questions
// are answered when the machine says so.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "actors/client/hooks/hook.hpp"
#include "actors/core/actor.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::client {

/// Something is due; `round` is the machine's.
struct LookDue {
  using is_message = void;
  std::uint64_t round = 0;
};

/// `Hook` derives from it, and has, for it to call,
///   begin()              a start, of `request_`: tells the machine, at once or later;
///   poststart(run)       the task runs: tells the machine, and answers;
///   perform(action)      of each action;
///   performed()          all actions have been carried out.
/// `Self` is the actor, whose turns it works in.
template <class Derived, class Self, class Machine>
class MachineHook {
public:
  explicit MachineHook(typename Self::pointer self) : self_{self} {}

  MachineHook(const MachineHook&) = delete;
  MachineHook& operator=(const MachineHook&) = delete;

  actor::Answer<hook::Answered> run(hook::Run& msg) {
    scope_.alloc = std::move(msg.alloc);
    scope_.job = std::move(msg.job);
    switch (msg.request->getPhase()) {
      case HookPhase::PRERUN:
      case HookPhase::PRESTART:
        waiting_ = self_->template make_response_promise<hook::Answered>();
        request_ = msg.request;
        environments_ = std::move(msg.environments);
        return on(waiting_, [this] { derived().begin(); });
      case HookPhase::POSTSTART:
        return derived().poststart(msg);
      case HookPhase::EXITED:
        machine_->exited();
        return hook::Answered{};
      case HookPhase::POSTRUN:
      case HookPhase::STOP:
        stopping_ = self_->template make_response_promise<hook::Answered>();
        return on(stopping_, [this] { machine_->stop(); });
      default:
        return hook::Answered{};
    }
  }

  actor::Answer<hook::Settled> cancel() {
    cancelled_ = self_->template make_response_promise<hook::Settled>();
    return on(cancelled_, [this] { machine_->cancel(); });
  }

  void look(std::uint64_t round) {
    machine_->look(round, now());
    carry_on();
  }

protected:
  ~MachineHook() = default;

  typename Machine::Time now() const { return self_->now().time_since_epoch(); }

  /// Carries out what the machine wants.
  void carry_on() {
    if (std::exchange(performing_, true)) return;  // What follows from an action comes after it.
    for (auto actions = machine_->take(); !actions.empty(); actions = machine_->take())
      for (auto& action : actions)
        std::visit([this](auto& it) { derived().perform(it); }, action);
    performing_ = false;
    derived().performed();
  }

  template <class Action>
  void wait(const Action& it) {
    self_->cancel(timer_);
    timer_ = actor::send_self_after(self_, it.delay, LookDue{it.round});
  }

  /// The task may start, with `variables`, which are secrets; or not.
  template <class Variables>
  void answer_start(const Result<>& outcome, const Variables& variables) {
    const auto waiting = std::exchange(waiting_, {});
    if (!outcome) return waiting.deliver(outcome.error());
    Draft<schema::plugin::HookAnswer> draft;
    fill_entries(draft->initSecretEnvironment(static_cast<unsigned>(variables.size())), variables);
    waiting.deliver(hook::Answered{draft.freeze()});
  }

  void answer_cancel() { cancelled_.deliver(hook::Settled{}); }

  void answer_stop() { stopping_.deliver(hook::Answered{}); }

  bool is_starting() const { return waiting_.pending(); }

  typename Self::pointer self_;
  HookScope scope_;
  std::optional<Machine> machine_;
  Object<schema::plugin::HookRequest> request_;  ///< Of the newest start.
  EnvironmentsRef environments_;                 ///< The same.

private:
  Derived& derived() { return static_cast<Derived&>(*this); }

  /// Tells the machine what `promise` is an answer to.
  template <class Promise, class Event>
  Promise on(Promise promise, Event event) {
    event();
    carry_on();
    return promise;
  }

  bool performing_ = false;
  actor::Promise<hook::Answered> waiting_;  ///< Of a start.
  actor::Promise<hook::Settled> cancelled_;
  actor::Promise<hook::Answered> stopping_;
  actor::Timer timer_;
};

}  // namespace nomad::client
