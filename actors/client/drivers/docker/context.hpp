// DockerContext: what the parts of the driver docker share: the actor, its settings, the way to the
// engine and to threads that may block. Answers come back in the actor's own turns.
//
// Lives in its actor. Whoever gives it a continuation lives as long: nothing is called once the
// actor has ended.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/core/turns.hpp"
#include "runtime/docker/engine.hpp"
#include "runtime/docker/settings.hpp"

namespace nomad::client {

/// Makes the way to the engine behind a socket; `thread` is what its thread is called.
using EngineFactory = std::function<std::unique_ptr<docker::Engine>(const std::string& socket,
                                                                    const std::string& thread)>;

class DockerContext {
public:
  using Action = Turns::Action;
  using Then = std::function<void(docker::EngineOutcome&)>;
  using CallId = docker::Engine::CallId;

  DockerContext(Driver::pointer self,
                const DriverOptions& options,
                docker::AgentSettings settings,
                const EngineFactory& make_engine);

  const docker::AgentSettings& settings() const { return settings_; }

  const DriverOptions& options() const { return options_; }

  docker::Engine& engine() { return *engine_; }

  docker::Engine& log_engine() { return *logs_; }

  Driver::pointer self() const { return self_; }

  /// What our containers are known by, beside those of other agents on this machine.
  const std::string& label() const { return options_.state_dir; }

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  /// A question with its answer in time; 0 is for ever. An answer that is no success is an error,
  /// too.
  CallId ask(docker::EngineRequest request, std::chrono::milliseconds timeout, const Then& then);

  /// The same for those that are quick.
  CallId ask(docker::EngineRequest request, const Then& then);

  /// Hands an answer that comes on another thread to `then` in the actor's turn.
  docker::Engine::Done in_turn(Then then) const;

  void after(Nanoseconds delay, Action action);

  /// The actor's.
  const Turns& turns() const { return turns_; }

  /// Runs what may block elsewhere; `then` gets its outcome.
  template <class T>
  void work(std::function<Result<T>()> run, std::function<void(Result<T>)> then) {
    self_->request(options_.steps, actor::infinite, blocking::make(std::move(run)))
        .then([then](blocking::Outcome& outcome) { then(std::move(outcome.as<T>())); },
              [then](const Error& err) { then(err); });
  }

  /// An event of the task's history.
  void tell(const driver::TaskId& id, std::string_view message);

private:
  Driver::pointer self_;
  Turns turns_;
  DriverOptions options_;
  docker::AgentSettings settings_;
  std::unique_ptr<docker::Engine> engine_;
  std::unique_ptr<docker::Engine> logs_;  ///< For the streams of logs, which write files.
};

}  // namespace nomad::client
