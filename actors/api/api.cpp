#include "actors/api/api.hpp"

#include <utility>

#include "actors/api/agent/server_gauges.hpp"
#include "actors/api/cluster/identity_endpoint.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/task_gate.hpp"
#include "actors/api/jobs/admission_cache.hpp"
#include "actors/api/openapi/openapi_endpoint.hpp"
#include "runtime/access/policy/rights_cache.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::api {
namespace {

constexpr std::chrono::seconds metrics_interval{10};

/// Closes the metrics' intervals for as long as the context's timers run.
void advance_metrics(const std::shared_ptr<Context>& context,
                     const std::shared_ptr<telemetry::Registry>& metrics) {
  metrics->advance(unix_now());
  observe_contacts(context, metrics);
  context->timers.call_after(metrics_interval, [weak = std::weak_ptr{context}, metrics] {
    if (const auto alive = weak.lock()) advance_metrics(alive, metrics);
  });
}

/// Of a group of a job; of an instance of another job also whose, and which.
telemetry::Labels summary_labels(schema::Job::Reader job, std::string_view group) {
  telemetry::Labels labels{{"job", copy(job.getId())},
                           {"task_group", std::string{group}},
                           {"namespace", copy(job.getNamespace())}};
  if (job.getParentId().size() == 0) return labels;
  labels.emplace_back("parent_id", copy(job.getParentId()));
  const auto id = view(job.getId());
  for (const auto& [label, mark] :
       {std::pair<const char*, std::string_view>{"dispatch_id", "/dispatch-"},
        {"periodic_id", "/periodic-"}})
    if (const auto at = id.rfind(mark); at != id.npos)
      labels.emplace_back(label, std::string{id.substr(at + mark.size())});
  return labels;
}

/// Jobs by status and their groups' allocations by state.
void collect_jobs(telemetry::Gauges& gauges, const state::Snapshot& snapshot) {
  constexpr std::size_t most_labelled = 1'000;  // a gauge per group and state, so not for all
  std::size_t pending = 0;
  std::size_t running = 0;
  std::size_t dead = 0;
  std::size_t labelled = 0;
  for (const auto& entry : snapshot.jobs()) {
    const auto job = *entry.value();
    const auto status = view(job.getStatus());
    (status == "running" ? running : status == "dead" ? dead : pending) += 1;
    if (labelled >= most_labelled) continue;
    const auto summary = snapshot.job_summary(view(job.getNamespace()), view(job.getId()));
    if (!summary) continue;
    for (const auto group : summary->getSummary()) {
      if (++labelled > most_labelled) break;
      const auto labels = summary_labels(job, view(group.getKey()));
      const auto counts = group.getValue();
      const auto set = [&](std::string_view name, std::int64_t value) {
        gauges.set(name, static_cast<double>(value), labels);
      };
      set("nomad.job_summary.queued", counts.getQueued());
      set("nomad.job_summary.complete", counts.getComplete());
      set("nomad.job_summary.failed", counts.getFailed());
      set("nomad.job_summary.running", counts.getRunning());
      set("nomad.job_summary.starting", counts.getStarting());
      set("nomad.job_summary.lost", counts.getLost());
      set("nomad.job_summary.unknown", counts.getUnknown());
    }
  }
  gauges.set("nomad.job_status.pending", static_cast<double>(pending));
  gauges.set("nomad.job_status.running", static_cast<double>(running));
  gauges.set("nomad.job_status.dead", static_cast<double>(dead));
}

void collect_waits(telemetry::Gauges& gauges, const raft::LeaderView::Waits& waits) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  gauges.set("raft.elections", static_cast<double>(waits.elections));
  gauges.set("raft.stalls", static_cast<double>(waits.stalls));
  gauges.set("raft.stalled_ms", Milliseconds{waits.stalled}.count());
  gauges.set("raft.patience_ms", Milliseconds{waits.patience}.count());
}

void add_collectors(const std::shared_ptr<Context>& context, telemetry::Registry& metrics) {
  metrics.add_collector([weak = std::weak_ptr{context}](telemetry::Gauges& gauges) {
    const auto alive = weak.lock();
    if (!alive || !alive->state.store) return;
    const auto snapshot = alive->state.store->snapshot();
    gauges.set("raft.appliedIndex", static_cast<double>(snapshot.index()));
    gauges.set("state.snapshotIndex", static_cast<double>(snapshot.index()));
    gauges.set("nomad.state.watches", static_cast<double>(alive->state.store->watches().size()));
    gauges.set("nomad.raft.read_only",
               alive->state.leader && !alive->state.leader->read_only().empty() ? 1 : 0);
    if (alive->state.leader) collect_waits(gauges, alive->state.leader->waits());
    collect_jobs(gauges, snapshot);
  });
}

}  // namespace

void add_routes(Routes& routes, const ApiOptions& options) {
  const auto& server = options.server;
  const ClientParts client{
      options.client, options.agent.node_id,
      options.peers.nodes ? AskedNode{options.peers.nodes} : AskedNode{options.client}};
  const AgentParts agent{options.agent, options.client, options.peers.view, server.cluster,
                         options.peers.choice};
  add_job_routes(routes, {options.jobs, options.plugins.job_types, options.plugins.providers,
                          std::make_shared<AdmissionCache>(), client});
  add_alloc_routes(routes, client);
  add_eval_routes(routes);
  add_deployment_routes(routes);
  add_node_pool_routes(routes);
  add_node_routes(routes, agent);
  add_scaling_routes(routes);
  add_service_routes(routes);
  add_kind_routes(routes);
  add_quota_routes(routes);
  add_variable_routes(routes, {server.keyring, server.locks});
  add_keyring_routes(routes, server.keyring);
  add_identity_routes(routes, {server.keyring, server.rsa_keys, server.oidc_issuer});
  add_snapshot_routes(routes, {options.uploads.directory, options.http.body_files, server.keyring});
  add_search_routes(routes);
  add_fuzzy_search_routes(routes, options.search);
  add_volume_routes(routes, {server.keyring, client.nodes});
  add_decision_routes(routes, server.decisions);
  add_operator_routes(routes, agent);
  add_agent_routes(routes, agent);
  add_host_routes(routes, agent);
  add_scheduler_routes(routes, {options.agent, server.schedulers});
  add_gossip_routes(routes, agent);
  add_pprof_routes(routes, agent);
  add_actor_routes(routes);
  add_plugin_routes(routes, options.plugins.states);
  add_cluster_routes(routes, agent);
  add_metrics_routes(routes, {options.metrics, options.client, server.cluster});
  add_client_routes(routes, client);
  add_file_routes(routes, client);
  add_event_routes(routes);
  add_monitor_routes(routes);
  add_whoami_routes(routes);
  add_explain_routes(routes);
  const AclParts acl{options.acl, server.keyring, std::make_shared<access::RightsCache>()};
  add_acl_token_routes(routes, acl);
  add_acl_policy_routes(routes, acl);
  add_acl_login_routes(routes, acl);
  add_acl_sign_in_routes(routes, acl);
  add_openapi_routes(routes, options.agent.version);
}

net::HttpRouter all_routes(const std::shared_ptr<Context>& context, const ApiOptions& options) {
  Routes routes{context, options.metrics.registry};
  add_routes(routes, options);
  return routes.take();
}

class Api::Core {
public:
  Core(std::shared_ptr<Context> context,
       net::HttpServer server,
       std::shared_ptr<const net::HttpRouter> routes,
       std::shared_ptr<telemetry::Registry> metrics,
       std::optional<RemoteRequests> remote)
      : context_{std::move(context)},
        server_{std::move(server)},
        routes_{std::move(routes)},
        metrics_{std::move(metrics)},
        remote_{std::move(remote)} {}

  ~Core() { stop(std::chrono::milliseconds{0}); }

  const std::vector<std::string>& addresses() const { return server_.addresses(); }

  const std::shared_ptr<const net::HttpRouter>& routes() const { return routes_; }

  net::Handler task_routes() const { return task_gate(context_, routes_, metrics_); }

  /// The server first: its end ends every stream and blocking query.
  void stop(std::chrono::milliseconds patience) {
    if (remote_) remote_->close();
    server_.stop(patience);
    context_->stop();
  }

private:
  std::shared_ptr<Context> context_;
  net::HttpServer server_;
  std::shared_ptr<const net::HttpRouter> routes_;
  std::shared_ptr<telemetry::Registry> metrics_;  ///< May be null.
  std::optional<RemoteRequests> remote_;
};

Api::Api(std::unique_ptr<Core> core) : core_{std::move(core)} {}

Api::Api(Api&&) noexcept = default;
Api& Api::operator=(Api&&) noexcept = default;
Api::~Api() = default;

const std::vector<std::string>& Api::addresses() const {
  return core_->addresses();
}

std::shared_ptr<const net::HttpRouter> Api::routes() const {
  return core_->routes();
}

net::Handler Api::task_routes() const {
  return core_->task_routes();
}

void Api::stop(std::chrono::milliseconds patience) {
  core_->stop(patience);
}

Result<Api> start_api(const actor::Owner& owner, ApiOptions options) {
  if (!options.uploads.directory.empty()) {
    options.http.body_files = NOMAD_TRY(
        net::BodyFiles::open({.directory = options.uploads.directory,
                              .most_bytes = options.uploads.most_bytes,
                              .wants = [by = options.authenticator](const net::Request& head) {
                                return by && brings_archive(head, *by);
                              }}));
  }
  auto http = options.http;
  const auto context = std::make_shared<Context>(owner, options);
  const auto& metrics = options.metrics.registry;
  if (metrics && !http.observer) {
    auto& requests = metrics->counter("http.request");
    http.observer = [&requests](const net::Request&, unsigned) { requests.add(); };
  }
  auto routes = all_routes(context, options);
  // For browsers alone: neither tasks nor plugins nor other agents ask for pages.
  auto served = routes;
  add_ui_pages(served, options.ui, options.hosts);
  auto server = net::HttpServer::start(std::move(http), std::move(served));
  if (!server) {
    context->stop();
    return server.error();
  }
  auto shared = std::make_shared<const net::HttpRouter>(routes);
  if (options.peers.remote)
    options.peers.remote->open(std::move(routes), options.http.body_files, run_blocking(context));
  if (metrics) {
    add_collectors(context, *metrics);
    advance_metrics(context, metrics);
  }
  return Api{std::make_unique<Api::Core>(context, std::move(*server), std::move(shared), metrics,
                                         options.peers.remote)};
}

}  // namespace nomad::api
