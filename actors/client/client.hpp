// Client: the node of this machine. It finds out what the machine is, registers it, keeps it alive,
// watches which allocations it should have, runs them, and removes what is left of old ones.
//
// Owns:   the alloc runners, the drivers, the AllocSync; which allocations the node knows.
// Takes:  what ClientApi takes, and Stop.
// Asks:   the ServerLink (RegisterNode, Heartbeat, WatchAllocs), the ClientDb, the StepRunner.
// Parent: the agent's wiring, which spawned the parts and stops them after the client.
// Ends:   after Stop, or by the parent's exit message.
//
// Start: fingerprint, drivers and saved state at the same time; then what was saved is taken up,
// and only then the node registers. No update is sent before the servers' first answer has been
// applied, and no lost task is started again before it.
#pragma once

#include "actors/client/alloc_runner.hpp"
#include "actors/client/client_db.hpp"
#include "actors/client/client_options.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "actors/client/stats_reader.hpp"
#include "actors/client/steps.hpp"
#include "actors/core/actor.hpp"
#include "actors/roles/client_api.hpp"
#include "actors/roles/server_link.hpp"

namespace nomad::client {

namespace client_actor {

/// Ends the client. The tasks go on, except in dev mode, where they are killed first. Answered
/// when everything is recorded.
struct Stop {
  using is_message = void;
};

struct Stopped {
  using is_message = void;
};

}  // namespace client_actor

using Client = actor::WithInternal<ClientApi, client_actor::Stopped(client_actor::Stop)>;

/// What the client works with; tests put in others.
struct ClientParts {
  ServerLink servers;
  ClientDb db;
  StepRunner steps;
  /// Made once the machine's figures are known.
  std::function<StatsReader(actor::System&, const StatsOptions&)> make_stats = spawn_stats_reader;
  AllocRunnerFactory make_runner = spawn_alloc_runner;
  AllocCheck check_alloc = client::check_alloc;  ///< What `make_runner` may be asked to run.
  std::shared_ptr<const PluginCatalog> plugins;
};

Client spawn_client(actor::System& system, ClientOptions options, ClientParts parts);

/// Opens the local state and spawns the client with its ordinary parts. The caller stops the
/// client by Stop, and then drops what it gets here.
class ClientNode {
public:
  static Result<ClientNode> start(actor::System& system,
                                  ClientOptions options,
                                  ServerLink servers,
                                  PluginCatalog plugins);

  ClientNode(ClientNode&&) = default;
  ClientNode& operator=(ClientNode&&) = default;

  const Client& client() const { return client_; }

  /// Ends the helpers; call it after the client has answered Stop.
  void stop_parts();

private:
  ClientNode() = default;

  Client client_;
  ClientDb db_;
  StepRunner steps_;
};

}  // namespace nomad::client
