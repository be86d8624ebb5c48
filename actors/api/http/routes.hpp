// The route tables: which path and method runs which operation, what its caller must be able to do,
// and where it is served. What is of no namespace is judged here, before anything is done or passed
// on. All else is judged with the namespace of the object, by who finds it: the view of a read
// (view.hpp), the decision of a write (runtime/cluster), the client node.
//
// One file per resource fills the table by its `add_…_routes`, which takes what its operations read
// of the agent besides the state. Below a prefix pattern
// ("/v1/job/") operations are chosen by the end of the path, because ids may contain slashes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/api/forward/destination.hpp"
#include "actors/api/http/call.hpp"
#include "runtime/net/http/router.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::access {
class RightsCache;
}

namespace nomad::api {

class AdmissionCache;

/// Sets of methods.
enum class Methods : std::uint8_t {
  get = 1,
  put = 2,
  post = 4,
  write = 6,  ///< PUT and POST mean the same nearly everywhere.
  remove = 8,
  any = 255,  ///< Nomad does not look at it.
};

/// A Handler, with what it reads of the agent (Routes::with) if it reads anything.
using BoundHandler = std::function<Outcome(Call&)>;

struct Operation {
  Methods methods;
  Capability capability;
  BoundHandler run;
  Where where = Where::by_method;

  /// Though it is of no namespace, its handler judges: each row of a list, or what a body names.
  bool handler_judges = false;

  /// The other region that the body is for; "": none. Null: bodies name none.
  std::string (*region_of_body)(const Call& call) = nullptr;
  About about = About::nothing;                 ///< Set by Routes.
  std::shared_ptr<const Metered> metered = {};  ///< Set by Routes.
};

/// Operations on paths that end in `suffix`.
struct Suffix {
  std::string_view suffix;
  std::vector<Operation> operations;
};

class Routes {
public:
  /// Without `metrics` no times are taken.
  explicit Routes(std::shared_ptr<Context> context,
                  std::shared_ptr<telemetry::Registry> metrics = {})
      : context_{std::move(context)}, metrics_{std::move(metrics)} {}

  /// Gives `parts` to handlers that take them: `with(read_thing)` of what this returns. They live
  /// as long as any call.
  template <class Parts>
  auto with(Parts parts) {
    const auto shared = std::make_shared<const Parts>(std::move(parts));
    if (context_) context_->parts.push_back(shared);
    return [shared](Outcome (*run)(Call&, const Parts&)) -> BoundHandler {
      return [parts = shared.get(), run](Call& call) { return run(call, *parts); };
    };
  }

  /// What ends a part that works by itself, such as requests of its own.
  void at_stop(std::function<void()> end) {
    if (context_) context_->at_stop.push_back(std::move(end));
  }

  /// Operations on exactly `path`.
  void exact(std::string path, std::vector<Operation> operations, About about = About::nothing);

  /// Operations below `prefix`, which ends in '/'. The first fitting suffix counts; one that is
  /// empty fits everything.
  void below(std::string prefix, std::vector<Suffix> suffixes, About about = About::nothing);

  /// All operations: "PUT /v1/job/*/plan" with what it needs. Methods that mean the same are one,
  /// "ANY" where Nomad does not look at it.
  const std::vector<std::pair<std::string, Capability>>& listed() const { return listed_; }

  net::HttpRouter take() { return std::move(router_); }

private:
  void list(const std::string& path, std::vector<Operation>& operations, About about);
  Metered metered(std::string route, const Operation& operation) const;

  std::shared_ptr<Context> context_;
  std::shared_ptr<telemetry::Registry> metrics_;
  std::vector<std::pair<std::string, Capability>> listed_;
  net::HttpRouter router_;
};

/// Whether the body of a request is an archive, which goes into a file as it comes. Not for those
/// who may not send one, nor while it is not known here what they may do.
bool brings_archive(const net::Request& head, access::Authenticator& authenticator);

/// The whole table: all of what follows.
void add_routes(Routes& routes, const ApiOptions& options);

/// Every route of the API: what an HTTP server serves, or whoever stands in for one.
net::HttpRouter all_routes(const std::shared_ptr<Context>& context, const ApiOptions& options);

/// Of what is asked of the client of this agent.
struct ClientParts {
  client::ClientApi client;  ///< Empty without one.
  std::string node_id;
  AskedNode nodes;  ///< Of a server: any node; else the own one.
};

/// Of operations on jobs.
struct JobParts {
  JobLimits limits;
  std::shared_ptr<const server::JobTypes> types;              ///< Null: no plugin schedules any.
  std::shared_ptr<const client::ServiceProviders> providers;  ///< Null: plugins bring none.
  std::shared_ptr<AdmissionCache> admission;
  ClientParts client;  ///< Who has the logs.
};

/// Of what an agent says of itself and its cluster.
struct AgentParts {
  AgentInfo agent;
  client::ClientApi client;                      ///< Empty without one.
  std::optional<rpc::ClusterView> view;          ///< Empty: this agent knows no servers.
  std::shared_ptr<const ClusterAccess> cluster;  ///< Null: it is no server.
  client::ServerChoice choice;                   ///< Empty: it is one, or has no client.
};

/// Of the scheduler workers of this agent's server.
struct SchedulerParts {
  AgentInfo agent;
  std::shared_ptr<server::SchedulerPool> pool;  ///< Null: it is no server.
};

struct MetricsSources {
  MetricsParts metrics;
  client::ClientApi client;                      ///< Empty without one.
  std::shared_ptr<const ClusterAccess> cluster;  ///< Null: this agent is no server.
};

/// Where archives of snapshots are kept on their way, and what tells whether their variables open.
struct ArchiveParts {
  std::string directory;                       ///< Empty: none are taken.
  std::shared_ptr<net::BodyFiles> files;       ///< Null: likewise.
  std::shared_ptr<security::Keyring> keyring;  ///< Null: nobody can tell.
};

/// Of access control.
struct AclParts {
  AclOptions options;
  std::shared_ptr<security::Keyring> keyring;     ///< Null: nobody can seal or open secrets here.
  std::shared_ptr<access::RightsCache> policies;  ///< As they were read to be shown.
};

void add_job_routes(Routes& routes, JobParts parts);
void add_alloc_routes(Routes& routes, ClientParts parts);
void add_eval_routes(Routes& routes);
void add_deployment_routes(Routes& routes);
void add_node_pool_routes(Routes& routes);
void add_node_routes(Routes& routes, AgentParts parts);
void add_scaling_routes(Routes& routes);
void add_service_routes(Routes& routes);
void add_kind_routes(Routes& routes);
void add_quota_routes(Routes& routes);

/// Of variables.
struct VariableParts {
  std::shared_ptr<security::Keyring> keyring;  ///< Null: this agent is no server.
  server::LockTracker locks;                   ///< Empty: likewise.
};

void add_variable_routes(Routes& routes, VariableParts parts);

/// See cluster/identity_endpoint.hpp.
struct IdentityParts;

void add_identity_routes(Routes& routes, const IdentityParts& parts);
void add_keyring_routes(Routes& routes, std::shared_ptr<security::Keyring> keyring);
void add_snapshot_routes(Routes& routes, ArchiveParts parts);
void add_search_routes(Routes& routes);
void add_fuzzy_search_routes(Routes& routes, SearchOptions options);
void add_explain_routes(Routes& routes);
void add_decision_routes(Routes& routes, server::DecisionLog decisions);
void add_operator_routes(Routes& routes, AgentParts parts);
void add_agent_routes(Routes& routes, AgentParts parts);

void add_host_routes(Routes& routes, AgentParts parts);

/// Of volumes.
struct VolumeParts {
  std::shared_ptr<security::Keyring> keyring;  ///< Null: this agent is no server.
  AskedNode nodes;                             ///< Those that plugins run on.
};

void add_volume_routes(Routes& routes, VolumeParts parts);
void add_scheduler_routes(Routes& routes, SchedulerParts parts);
void add_gossip_routes(Routes& routes, AgentParts parts);
void add_pprof_routes(Routes& routes, AgentParts parts);
void add_actor_routes(Routes& routes);
void add_plugin_routes(Routes& routes, std::shared_ptr<const plugin::PluginStates> states);
void add_cluster_routes(Routes& routes, AgentParts parts);
void add_metrics_routes(Routes& routes, MetricsSources sources);
void add_client_routes(Routes& routes, ClientParts parts);
void add_file_routes(Routes& routes, ClientParts parts);
void add_event_routes(Routes& routes);
void add_monitor_routes(Routes& routes);
void add_whoami_routes(Routes& routes);
void add_acl_token_routes(Routes& routes, AclParts parts);
void add_acl_policy_routes(Routes& routes, AclParts parts);
void add_acl_login_routes(Routes& routes, AclParts parts);
void add_acl_sign_in_routes(Routes& routes, AclParts parts);

}  // namespace nomad::api
