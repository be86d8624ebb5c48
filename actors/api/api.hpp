// Api: Nomad's HTTP API v1 of this agent, on runtime/net's server. No actor itself: its handlers
// run on the server's I/O threads, on a bounded query pool, and, for answers of actors, in a few
// gateway actors that it owns.
//
// Reads are answered from the newest state snapshot; a blocking query holds no thread, only its
// request and a watch. Writes are decided on the request's own thread and proposed by the server's
// Writer; actions on tasks are questions to the ClientApi role. Every route names the capability
// that its caller needs (http/routes.hpp); of what, is judged where the object is known.
//
// Threads: start and stop from the wiring's thread; everything else is internal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/api/forward/remote_requests.hpp"
#include "actors/api/http/call_meter.hpp"
#include "actors/api/ui/pages.hpp"
#include "actors/client/remote_servers.hpp"
#include "actors/plugin/plugin_states.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/roles/client_api.hpp"
#include "actors/rpc/forwarder.hpp"
#include "actors/rpc/node_caller.hpp"
#include "actors/server/decisions/decision_log.hpp"
#include "actors/server/lock_tracker.hpp"
#include "actors/server/scheduler_pool.hpp"
#include "actors/server/writer.hpp"
#include "runtime/access/authenticator.hpp"
#include "runtime/cluster/acl/token_bounds.hpp"
#include "runtime/identity/rsa_key.hpp"
#include "runtime/jobspec/validate/bounds.hpp"
#include "runtime/net/http/http_server.hpp"
#include "runtime/net/http/page_guard.hpp"
#include "runtime/net/http/router.hpp"
#include "runtime/net/timer_queue.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/state/store.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::server {
class JobTypes;
}

namespace nomad::client {
class ServiceProviders;
}

namespace nomad::api {

class Auditor;

/// What the API says of this agent; fixed at the start.
struct AgentInfo {
  std::string name;  ///< The node's name; the member's is "<name>.<region>".
  std::string region = "global";
  std::string authoritative_region = {};  ///< Where what holds in all is written; "": its own.
  std::string datacenter = "dc1";
  std::string version = "1.6.5";  ///< The API version that we speak: clients compare it.
  std::string server_id;
  std::string http_address;  ///< As advertised, "127.0.0.1:4646".
  std::string rpc_address;   ///< "127.0.0.1:4647"
  std::string serf_address;  ///< "127.0.0.1:4648"
  bool server_enabled = true;
  bool client_enabled = true;
  bool enable_debug = false;  ///< What describes the machine is shown without ACLs, too.
  std::string node_id = {};   ///< Of the client; empty without one.

  /// The value of `config` in /v1/agent/self: a JSON object in Nomad's spelling, without secrets.
  /// Called on an I/O thread.
  std::function<std::string()> config_json = {};
};

/// What the API asks of the log; a RaftNode plays it.
using RaftReader = actor::Interface<raft::ReadReady(raft::ReadIndex),
                                    raft::RaftStatus(raft::GetStatus),
                                    raft::SnapshotTaken(raft::TakeSnapshot)>;

struct JobLimits {
  std::int64_t default_priority = 50;
  std::int64_t max_priority = 100;
  std::int64_t max_count = 50'000;  ///< Allocations of one job, all groups together; 0: no limit.
  jobspec::Bounds bounds = {};
  std::uint64_t max_source_bytes = 1'000'000;  ///< Of the job files that are kept.
  bool allow_unsupported = false;  ///< What this release can't carry out is a warning, no error.
};

struct ClusterAccess;

/// Of the fuzzy search.
struct SearchOptions {
  bool fuzzy = true;
  std::size_t most_objects = 20;   ///< Of a kind that are looked at.
  std::size_t most_matches = 100;  ///< Of a kind that are told.
  std::size_t least_text = 2;      ///< Bytes of what is searched for.
};

/// The state of this agent's server, and the log that changes it; all empty without one.
struct StateParts {
  std::shared_ptr<state::Store> store = {};
  std::shared_ptr<const raft::LeaderLease> lease = {};  ///< Empty: every read is answered at once.
  std::shared_ptr<const raft::LeaderView> leader = {};  ///< Who leads, as this server knows it.
  RaftReader raft = {};
  std::optional<server::Writer> writer = {};
};

/// What else that server has.
struct ServerParts {
  std::shared_ptr<security::Keyring> keyring = {};
  identity::RsaKeyOf rsa_keys = {};                        ///< Of that keyring; empty: made of it.
  server::LockTracker locks = {};                          ///< Of variables.
  std::string oidc_issuer = {};                            ///< "" without one.
  server::DecisionLog decisions = {};                      ///< Empty: none are kept.
  std::shared_ptr<server::SchedulerPool> schedulers = {};  ///< Null: there are none.
  std::shared_ptr<const ClusterAccess> cluster = {};       ///< The servers among themselves.
};

/// How other agents are reached, for requests that they must serve; empty: everything is served
/// here. A client node's view has the servers that it uses, its current one first.
struct PeerParts {
  rpc::Transport transport = {};
  std::optional<rpc::ClusterView> view = {};
  std::optional<RemoteRequests> remote = {};  ///< Serves what others pass on to this agent.
  rpc::NodeCaller nodes = {};                 ///< Of a server: asks client nodes.
  client::ServerChoice choice = {};  ///< Of a client without a server: which servers it uses.
};

/// What plugins bring; empty: nothing.
struct PluginParts {
  std::shared_ptr<const plugin::PluginStates> states = {};
  std::shared_ptr<const server::JobTypes> job_types = {};          ///< That plugins schedule.
  std::shared_ptr<const client::ServiceProviders> providers = {};  ///< Of services.
};

struct MetricsParts {
  std::shared_ptr<telemetry::Registry> registry = {};
  bool prometheus = true;  ///< Whether /v1/metrics answers `format=prometheus`.
  bool of_tasks = false;   ///< Whether it shows what each task uses.
  std::shared_ptr<telemetry::IdentityCounters> callers = {};  ///< Null: of its own.
  MeterOptions meter = {};  ///< Who is counted, and how often he may ask.
};

/// For archives of snapshots on their way.
struct UploadOptions {
  std::string directory = {};  ///< Made, or emptied, at the start. Empty: none are taken.
  std::uint64_t most_bytes = std::uint64_t{4} << 30;  ///< Of one archive.
};

/// Of access control.
struct AclOptions {
  bool enabled = false;  ///< Without, all its operations say that it is off.
  cluster::TokenBounds bounds = {};
  std::string reset_file = {};  ///< The number in it allows one more bootstrap; empty: none does.
};

struct WorkerOptions {
  unsigned query_threads = 2;
  net::TimerQueue::Alarm alarm = {};           ///< Instead of a thread for timers.
  std::size_t cache_bytes = 32 * 1024 * 1024;  ///< Renderings that are kept.
};

/// What an agent's set-up gives. Endpoints do not see it: each family of them gets what it reads
/// (http/routes.hpp), all of them what a Context has.
struct ApiOptions {
  net::ServerOptions http = {};
  net::HostRules hosts = {};  ///< What keeps pages in browsers away.
  AgentInfo agent = {};
  JobLimits jobs = {};
  StateParts state = {};
  ServerParts server = {};
  PeerParts peers = {};
  /// Says who asks, and what he may do; empty: nobody may do anything.
  std::shared_ptr<access::Authenticator> authenticator = {};
  client::ClientApi client = {};          ///< Of this agent; empty without a client.
  std::shared_ptr<Auditor> auditor = {};  ///< Null: nothing is audited.
  PluginParts plugins = {};
  MetricsParts metrics = {};
  UploadOptions uploads = {};
  WorkerOptions workers = {};
  AclOptions acl = {};
  SearchOptions search = {};
  UiOptions ui = {};
};

class Api {
public:
  Api(Api&&) noexcept;
  Api& operator=(Api&&) noexcept;
  ~Api();  ///< Stops without patience.

  /// What it listens on: "127.0.0.1:4646".
  const std::vector<std::string>& addresses() const;

  /// What it serves, for those who ask from within the agent; valid until `stop`.
  std::shared_ptr<const net::HttpRouter> routes() const;

  /// The same as the sockets of tasks serve it: nobody gets by without a token of an identity or of
  /// access control, whatever is asked. Valid until `stop`.
  net::Handler task_routes() const;

  /// Stops accepting, lets answers in flight finish within `patience`, ends streams and blocking
  /// queries, and stops the gateways. Before the actor system goes.
  void stop(std::chrono::milliseconds patience = std::chrono::milliseconds{0});

  class Core;

private:
  friend Result<Api> start_api(const actor::Owner& owner, ApiOptions options);
  explicit Api(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

/// Binds and serves. A port in use is an error that names it.
Result<Api> start_api(const actor::Owner& owner, ApiOptions options);

}  // namespace nomad::api
