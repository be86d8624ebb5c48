// ClientPart: the client half of an agent: the node of this machine, wired to its servers.
#pragma once

#include <string>

#include "actors/client/client.hpp"
#include "runtime/config/agent_config.hpp"

namespace nomad::agent {

class ClientPart {
public:
  static Result<ClientPart> start(actor::System& system,
                                  const config::AgentConfig& config,
                                  const std::string& executor_path,
                                  const std::string& http_address,
                                  const client::ServerLink& servers);

  ClientPart(ClientPart&&) = default;

  client::ClientApi api() const { return node_.client(); }

  /// The node's id, as soon as the client has read or made it. Blocks; `timeout` after 30 s.
  Result<std::string> wait_for_node_id(actor::System& system) const;

  /// Blocks until everything is recorded; in dev mode until the tasks are gone.
  void stop();

private:
  ClientPart(actor::System& system, client::ClientNode node)
      : system_{&system}, node_{std::move(node)} {}

  actor::System* system_;
  client::ClientNode node_;
};

}  // namespace nomad::agent
