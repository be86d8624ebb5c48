// Client: the node of this machine. It finds out what the machine is, registers it, keeps it alive,
// watches which allocations it should have, runs them, and removes what is left of old ones.
//
// Owns:   the alloc runners, the DriverManager, the AllocSync, the UsageReader and, in an agent,
// the
//         ClientDb and the BlockingPool; which allocations the node knows.
// Takes:  what ClientApi takes, Reconfigure, Happened and Stop.
// Asks:   the servers (register, heartbeat, watchAllocs, emitEvents), ClientDb, BlockingPool.
// Parent: root, report: its end is the agent's. The tasks go on, and the next agent finds them.
// Ends:   after Stop, by an exit message, or with a reason when the database has ended.
//
// Start: fingerprint, drivers and saved state at the same time; then what was saved is taken up,
// and only then the node registers. No update is sent before the servers' first answer has been
// applied, and no lost task is started again before it.
#pragma once

#include "actors/client/alloc_runner.hpp"
#include "actors/client/client_options.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/client/tools/check_runner.hpp"
#include "actors/client/tools/client_db.hpp"
#include "actors/client/usage_reader.hpp"
#include "actors/core/actor.hpp"
#include "actors/roles/client_api.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::csi {
class PluginCalls;
}

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

/// Goes on with this configuration: the machine is looked at anew and the node registered. What
/// runs keeps what it was started with. Only what may change while a client runs may differ
/// (runtime/config/reload.hpp). After an error everything is as before.
struct Reconfigure {
  using is_message = void;
  ClientOptions options;
  /// What hooks, drivers and fingerprinters there are from now on; null: as before. Of drivers that
  /// are there no more the tasks go on, and nobody looks after them until they are back.
  std::shared_ptr<const PluginCatalog> plugins{};
};

struct Reconfigured {
  using is_message = void;
};

/// Something has happened on the node, that its events show.
struct Happened {
  using is_message = void;
  std::string subsystem;
  std::string message;
  std::map<std::string, std::string> details;
};

}  // namespace client_actor

using Client = actor::WithInternal<ClientApi,
                                   client_actor::Stopped(client_actor::Stop),
                                   client_actor::Reconfigured(client_actor::Reconfigure),
                                   void(client_actor::Happened)>;

/// What the client works with; tests put in others.
struct ClientParts {
  NodeDoor servers;
  ClientDb db;
  BlockingPool steps;
  /// Made once the machine's figures are known.
  std::function<UsageReader(const actor::Owner&, const UsageReaderOptions&)> make_usage_reader
      = spawn_usage_reader;
  std::function<CheckRunner(const actor::Owner&, CheckRunnerOptions)> make_checks
      = spawn_check_runner;
  AllocRunnerFactory make_runner = spawn_alloc_runner;
  AllocCheck check_alloc = client::check_alloc;  ///< What `make_runner` may be asked to run.
  std::shared_ptr<const PluginCatalog> plugins;
  /// Which processors tasks without cores may use, told from a step: the groups' parent and the
  /// list, as host::share_cpus. Empty: nobody is held to any.
  std::function<Result<>(const std::string& parent, const std::string& cpus)> share_cpus{};
  std::shared_ptr<telemetry::Registry> task_metrics{};  ///< Null: what tasks do is not counted.
  std::shared_ptr<csi::PluginCalls> csi_calls{};        ///< Null: by `csi_path` of the options.
  /// Of each of `allowed_fingerprinters`, found before the client's start; null: it looks itself.
  std::shared_ptr<const std::vector<host::NodeFacts>> first_look{};
};

Client spawn_client(const actor::Owner& owner, ClientOptions options, ClientParts parts);

/// What a client's start needs of nobody else: its local state, and what the machine is.
struct PreparedClient {
  ClientOptions options;
  std::shared_ptr<const PluginCatalog> plugins{};
  std::optional<storage::ClientStore> store{};  ///< None in dev mode.
  std::vector<host::NodeFacts> facts{};
};

/// Opens the local state and asks the fingerprinters. `complete` may add to the catalog in between,
/// and block for that. Any thread: an agent does so while its server starts.
Result<PreparedClient> prepare_client(ClientOptions options,
                                      PluginCatalog plugins,
                                      const std::function<void(PluginCatalog&)>& complete = {});

/// Spawns the client with its ordinary parts, which are its own. The caller stops it by Stop.
/// `task_metrics` as in ClientParts.
Client start_client(const actor::Owner& owner,
                    PreparedClient prepared,
                    NodeDoor servers,
                    std::shared_ptr<telemetry::Registry> task_metrics = nullptr);

/// Both.
Result<Client> start_client(const actor::Owner& owner,
                            ClientOptions options,
                            NodeDoor servers,
                            PluginCatalog plugins,
                            std::shared_ptr<telemetry::Registry> task_metrics = nullptr);

}  // namespace nomad::client
