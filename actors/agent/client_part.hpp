// ClientPart: the client half of an agent: the node of this machine, wired to its servers.
#pragma once

#include <string>

#include "actors/agent/programs.hpp"
#include "actors/client/client.hpp"
#include "actors/client/tools/task_sockets.hpp"
#include "actors/plugin/plugin_loader.hpp"
#include "runtime/config/agent_config.hpp"

namespace nomad::agent {

class ClientPart {
public:
  /// Makes the directories, opens the local state and looks at the machine. Any thread: none of it
  /// needs a server. `loader` is null without plugins; at `sockets` tasks ask this agent.
  static Result<client::PreparedClient> prepare(const config::AgentConfig& config,
                                                const Programs& programs,
                                                const std::string& http_address,
                                                plugin::PluginLoader* loader,
                                                std::shared_ptr<client::TaskSockets> sockets);

  /// `prepared` by `prepare` with the same configuration.
  static ClientPart start(const actor::Owner& owner,
                          const config::AgentConfig& config,
                          const std::string& executor_path,
                          const std::string& http_address,
                          client::PreparedClient prepared,
                          const NodeDoor& servers,
                          const std::shared_ptr<telemetry::Registry>& metrics);

  ClientPart(ClientPart&&) = default;

  /// Goes on with what may have changed of the configuration (runtime/config/reload.hpp), and with
  /// another catalog, if there is one. Blocks; after an error everything is as before, unless that
  /// is `timeout`.
  Result<> reconfigure(const config::AgentConfig& config,
                       std::shared_ptr<const client::PluginCatalog> plugins) const;

  client::ClientApi api() const { return client_; }

  const client::Client& client() const { return client_; }

  /// The node's id, as soon as the client has read or made it. Blocks; `timeout` after 30 s.
  Result<std::string> wait_for_node_id() const;

  /// Blocks until everything is recorded; in dev mode until the tasks are gone.
  void stop();

private:
  ClientPart(actor::System& system,
             client::Client client,
             std::string executor_path,
             std::string http_address)
      : system_{&system},
        client_{std::move(client)},
        executor_path_{std::move(executor_path)},
        http_address_{std::move(http_address)} {}

  actor::System* system_;
  client::Client client_;
  std::string executor_path_;
  std::string http_address_;
};

}  // namespace nomad::agent
