// EnginePerformer: performs what every machine of runtime/docker wants of the engine and of the
// clock; what is the machine's own adds who derives from it. Used in the driver's actor.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "actors/client/drivers/docker/context.hpp"
#include "runtime/base/log.hpp"
#include "runtime/docker/engine_machine.hpp"

namespace nomad::client {

/// A machine, with its questions that are not answered.
template <class Machine>
struct EngineLife {
  Machine machine;
  std::map<docker::engine_action::Round, DockerContext::CallId> calls{};
};

template <class Life>
struct EnginePerformer {
  using Round = docker::engine_action::Round;
  using Event = std::function<void(Life&)>;

  DockerContext& context;
  Life& life;
  std::function<void(const Event&)> hear;  ///< If it is there still; then performs what follows.

  DockerContext::Then answered(Round round) const {
    return [hear = hear, round](docker::EngineOutcome& outcome) {
      hear([&](Life& to) {
        to.calls.erase(round);
        to.machine.answered(round, outcome);
      });
    };
  }

  void operator()(const docker::engine_action::Ask& action) const {
    const auto call = context.ask(action.request, action.timeout, answered(action.round));
    if (action.round != 0) life.calls[action.round] = call;
  }

  void operator()(const docker::engine_action::Withdraw& action) const {
    if (const auto call = life.calls.extract(action.round)) context.engine().cancel(call.mapped());
  }

  void operator()(const docker::engine_action::Wait& action) const {
    context.after(action.delay, [hear = hear, round = action.round] {
      hear([round](Life& to) { to.machine.time_over(round); });
    });
  }

  void operator()(const docker::engine_action::LogWarning& action) const {
    log::warn("client", action.text,
              {{"driver", "docker"},
               {"image", action.image},
               {"container", action.container},
               {"error", action.error}});
  }
};

/// To be called after every event.
template <class Performer>
void perform_all(const Performer& performer) {
  auto& machine = performer.life.machine;
  for (auto actions = machine.take(); !actions.empty(); actions = machine.take())
    for (const auto& action : actions)
      std::visit(performer, action);
}

}  // namespace nomad::client
