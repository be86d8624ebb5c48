// Agent: the wiring of one node: server, client and API, with their order of starting and stopping.
//
// Start: data directory locked; log and snapshot opened, state restored, server actors, and beside
// these the client's state opened and its machine looked at; client; API last, so that whoever is
// answered is answered rightly. Stop: the other way round.
//
// Used from one thread, the one that started it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "actors/agent/programs.hpp"
#include "runtime/base/result.hpp"
#include "runtime/config/reload.hpp"

namespace nomad::agent {

class Agent {
public:
  /// Called at most once, on any thread: the agent can promise nothing more and must be stopped.
  using OnFatal = std::function<void(const Error&)>;

  static Result<std::unique_ptr<Agent>> start(const config::AgentConfig& config,
                                              const Programs& programs,
                                              OnFatal on_fatal);

  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Stops everything, if `stop` has not. Tasks go on, except in dev mode.
  ~Agent();

  /// Drains the client's node, if the configuration has `drain_on_shutdown` and this is no dev
  /// agent, and blocks until that is over, which may take as long as its deadline. `wait` is called
  /// between looks: it blocks for so long and says whether to go on.
  void drain(const std::function<bool(std::chrono::milliseconds)>& wait);

  /// `leaving`: this node goes for good, and the others are told (leave_on_interrupt).
  void stop(bool leaving);

  /// Takes over what may change while it runs of the configuration as it is now, and reads the
  /// certificates again; logs if it can't. After an error nothing has changed.
  Result<config::Reload> reload(const config::AgentConfig& wanted);

  /// Called now and then: plugins that were slow to say what they are, or that are not used any
  /// more, are told to the client.
  void look_after_plugins();

  /// Whether the server's and the client's actors answer, all within that time; logs who does not.
  bool answers(std::chrono::milliseconds patience);

  /// Of the client; empty without one.
  const std::string& node_id() const;

  /// "127.0.0.1:4646"
  const std::string& http_address() const;

private:
  struct Parts;
  explicit Agent(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nomad::agent
