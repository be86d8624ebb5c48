#include "actors/agent/server_part.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "actors/agent/server_identity.hpp"
#include "actors/agent/wrapping_keys.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/storage/directory.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::agent {
namespace {

std::int64_t steady_nanoseconds() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

/// With a third of a second of silence before an election, writes go on within half a second of a
/// leader's death. Where machines stall for longer, they learn to wait for longer, up to six times
/// that (runtime/raft/patience.hpp); `raft_multiplier` gives them more from the start.
constexpr std::chrono::milliseconds heartbeat_interval{50};
constexpr std::chrono::milliseconds election_timeout{320};

/// As long as Nomad waits to be removed when it leaves.
constexpr std::chrono::seconds removal_patience{5};
constexpr std::chrono::milliseconds removal_pause{100};

std::chrono::milliseconds milliseconds(Nanoseconds duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

raft::RaftOptions raft_options(const config::AgentConfig& config,
                               const ServerIdentity& identity,
                               const ClusterPart& cluster,
                               const AgentLinks& links) {
  raft::RaftOptions options;
  options.metrics = links.metrics;
  options.directory = config.data_dir + "/server/raft";
  options.self = identity.id;
  options.address = cluster.address();
  options.carrier = cluster.carrier();
  // With others it is founded when all are there. Who left a cluster comes back to it.
  options.bootstrap = config.server.bootstrap_expect == 1 && !identity.has_left;
  const auto times = std::max<std::int64_t>(config.server.raft_multiplier, 1);  // 0 is the default
  options.heartbeat_interval = heartbeat_interval * times;
  options.election_timeout = election_timeout * times;
  options.snapshot_threshold = static_cast<std::uint64_t>(config.server.raft_snapshot_threshold);
  options.snapshot_interval
      = std::chrono::duration_cast<std::chrono::seconds>(config.server.raft_snapshot_interval);
  options.trailing_entries = static_cast<std::uint64_t>(config.server.raft_trailing_logs);
  return options;
}

/// Shows a total as a counter: what has come since it was looked at last counts.
class ShownTotal {
public:
  ShownTotal(telemetry::Counter& counter, const std::atomic<std::uint64_t>& total)
      : counter_{counter}, total_{total} {}

  void look() {
    const auto now = total_.load();
    if (now > seen_) counter_.add(static_cast<double>(now - std::exchange(seen_, now)));
  }

private:
  telemetry::Counter& counter_;
  const std::atomic<std::uint64_t>& total_;
  std::uint64_t seen_ = 0;
};

void show_counters(telemetry::Registry& metrics,
                   const std::shared_ptr<const raft::RaftCounters>& counters) {
  std::vector<ShownTotal> totals{
      {metrics.counter("raft.apply"), counters->proposals},
      {metrics.counter("raft.state.leader"), counters->elections},
  };
  metrics.add_recorder([counters, totals = std::move(totals)]() mutable {
    for (auto& total : totals)
      total.look();
  });
}

cluster::LeaseOptions lease_options(const config::Server& server) {
  return {.min_ttl = milliseconds(server.min_heartbeat_ttl),
          .max_heartbeats_per_second = server.max_heartbeats_per_second,
          .grace = milliseconds(server.heartbeat_grace),
          .failover_ttl = milliseconds(server.failover_heartbeat_ttl)};
}

cluster::GcThresholds gc_thresholds(const config::Server& server) {
  return {.eval = server.eval_gc_threshold,
          .batch_eval = server.batch_eval_gc_threshold,
          .job = server.job_gc_threshold,
          .deployment = server.deployment_gc_threshold,
          .node = server.node_gc_threshold,
          .acl_token = server.acl_token_gc_threshold};
}

/// Empty if they are what every cluster begins with.
Object<schema::SchedulerConfiguration> scheduler_defaults(const config::SchedulerDefaults& from) {
  if (from == config::SchedulerDefaults{}) return {};
  Draft<schema::SchedulerConfiguration> draft;
  draft->setSchedulerAlgorithm(text(from.scheduler_algorithm));
  draft->setMemoryOversubscriptionEnabled(from.memory_oversubscription_enabled);
  draft->setRejectJobRegistration(from.reject_job_registration);
  draft->setPauseEvalBroker(from.pause_eval_broker);
  auto preemption = draft->initPreemptionConfig();
  preemption.setSystemSchedulerEnabled(from.preemption_config.system_scheduler_enabled);
  preemption.setSysBatchSchedulerEnabled(from.preemption_config.sysbatch_scheduler_enabled);
  preemption.setBatchSchedulerEnabled(from.preemption_config.batch_scheduler_enabled);
  preemption.setServiceSchedulerEnabled(from.preemption_config.service_scheduler_enabled);
  return draft.freeze();
}

cluster::RejectedNodeOptions rejected_nodes(const config::PlanRejections& from) {
  return {.enabled = from.enabled,
          .node_threshold = static_cast<std::size_t>(from.node_threshold),
          .node_window = from.node_window};
}

/// Without an authority where this region is its own.
server::ReplicatorOptions replication(const config::AgentConfig& config) {
  server::ReplicatorOptions options;
  if (config.server.authoritative_region == config.region) return options;
  options.authority = config.server.authoritative_region;
  options.token = SecretText{config.acl.replication_token};
  options.copies_access = config.acl.enabled;
  return options;
}

/// Schedulers keep a core busy each; one core is left to the log and the clients.
Result<server::SchedulerSettings> scheduler_settings(const config::Server& from) {
  server::SchedulerSettings settings;
  settings.workers = from.num_schedulers >= 0
                         ? static_cast<unsigned>(from.num_schedulers)
                         : std::max(1U, std::thread::hardware_concurrency() / 2);
  if (!from.enabled_schedulers.empty()) {
    settings.types = from.enabled_schedulers;
    if (std::ranges::find(settings.types, "_core") == settings.types.end())
      settings.types.emplace_back("_core");
  }
  NOMAD_TRY(server::check_settings(settings).within("server"));
  return settings;
}

}  // namespace

Result<ServerPart> ServerPart::start(const actor::Owner& owner,
                                     const config::AgentConfig& config,
                                     const std::string& http_address,
                                     const AgentLinks& links) {
  ServerPart part;
  part.scheduling_ = NOMAD_TRY(scheduler_settings(config.server));
  part.directory_ = config.data_dir + "/server";
  auto wrapping = NOMAD_TRY(wrapping_keys(config.keyrings));
  const auto in
      = [&part](const char* name) { return storage::WantedDirectory{part.directory_ + name}; };
  auto changed = NOMAD_TRY(storage::add_directories({in(""), in("/keystore")}));
  NOMAD_TRY(storage::make_private_directory(part.directory_));
  const auto identity = NOMAD_TRY(server_identity(part.directory_));
  part.id_ = identity.id;
  for (auto& more : NOMAD_TRY(storage::add_directories({in("/raft"), in("/raft/snapshots")})))
    changed.push_back(std::move(more));
  // Beside the log's start, for both wait for the disk. The secret is the configuration's, whatever
  // keys membership has (serf.keyring): others of those come and go while servers run.
  auto keyring = std::async(
      std::launch::async,
      [changed, options = security::KeyringOptions{
                    .server_id = part.id_,
                    .directory = part.directory_ + "/keystore",
                    .cluster_secret = config.server.encrypt,
                    .wrapping = std::move(wrapping),
                    .clock = steady_nanoseconds}]() -> Result<std::shared_ptr<security::Keyring>> {
        for (const auto& directory : changed)
          NOMAD_TRY(storage::sync_directory(directory));
        return security::Keyring::open(options);
      });
  state::Store::Options store_options;
  store_options.event_batches = static_cast<std::size_t>(config.server.event_buffer_size);
  part.store_ = std::make_shared<state::Store>(store_options);
  part.fsm_ = std::make_shared<raft::StateFsm>(part.store_);
  part.fsm_->measure_in(links.metrics);
  part.system_ = &owner.system();
  part.server_ = server::spawn_server(owner);
  const auto started = part.start_parts(config, identity, http_address, links, keyring);
  if (started) return part;
  if (part.raft_) {
    part.stop(false);
    return started.error();
  }
  if (part.cluster_) part.cluster_->stop();
  actor::stop(part.server_);
  return started.error();
}

Result<> ServerPart::start_parts(const config::AgentConfig& config,
                                 const ServerIdentity& identity,
                                 const std::string& http_address,
                                 const AgentLinks& links,
                                 FutureKeyring& keyring) {
  auto cluster = NOMAD_TRY(ClusterPart::listen(server_, config,
                                               {.server_id = id_,
                                                .http_address = http_address,
                                                .random_seed = Random::from_system().next(),
                                                .callers = links.callers},
                                               links.requests, store_,
                                               listening(server_, config, id_, links)));
  cluster_.emplace(std::move(cluster));
  auto raft = NOMAD_TRY(
      raft::start_raft(server_, raft_options(config, identity, *cluster_, links), fsm_, server_));
  raft_.emplace(std::move(raft));
  if (links.metrics) show_counters(*links.metrics, raft_->counters);
  // Whoever hears of a vote must find it after a power cut: first the directories are synced.
  keyring_ = NOMAD_TRY(keyring.get());
  cluster_->verify_by(identity::signing_keys(keyring_));
  rsa_keys_ = identity::rsa_keys(keyring_);
  cluster_->attach(server_, *raft_);
  start_duties(config, links);
  return {};
}

/// A server works without, too.
std::shared_ptr<server::DecisionFeed> ServerPart::keep_decisions(const AgentLinks& links) {
  auto started = server::start_decision_log(server_, directory_,
                                            telemetry::ServerMetrics::make(links.metrics));
  if (!started) {
    log::warn("agent", "what decisions are made from is not kept", {{"error", started.error()}});
    return nullptr;
  }
  decisions_ = started->log;
  return started->feed;
}

void ServerPart::start_duties(const config::AgentConfig& config, const AgentLinks& links) {
  auto random = Random::from_system();
  const auto& proposer = raft_->proposer;
  const auto sealed
      = server::spawn_sealed_link(server_, proposer, cluster_->forwarder(), raft_->leader);
  const auto duties = server::start_duties(
      server_,
      {store_, fsm_, proposer, raft_->lease, keyring_, sealed, cluster_->forwarder(), rsa_keys_,
       cluster_->asked_nodes()},
      {.heartbeats
       = {.leases = lease_options(config.server),
          .servers = cluster_->known_servers(),
          .lacks_room = [leader = raft_->leader] { return !leader->read_only().empty(); }},
       .gc = {.job_interval = config.server.job_gc_interval,
              .thresholds = gc_thresholds(config.server)},
       .keyring = {},
       .schedulers = scheduling_,
       .default_configuration = scheduler_defaults(config.server.default_scheduler_config),
       .plans = {.rejected_nodes = rejected_nodes(config.server.plan_rejection_tracker)},
       .job_types = links.job_types,
       .decisions = keep_decisions(links),
       .metrics = links.metrics,
       .replication = replication(config),
       .oidc_issuer = config.server.oidc_issuer,
       .enforces_access = cluster_->authenticator()->enforces(),
       .region = config.region},
      random);
  nodes_ = duties.nodes;
  locks_ = duties.locks;
  schedulers_ = duties.schedulers;
  cluster_->serve_regions(duties.region_rows);
  actor::tell(server_, server::AddDuty{cluster_->autopilot()});
  cluster_->serve_nodes(nodes_);
  writer_.emplace(store_, proposer, raft_->leader);
  cluster_->serve_sealed(*writer_);
}

/// Until the leader has removed this server; as long as a real operator waits. Whether it has: a
/// server that is out hears no more of the log, so the others are asked, too.
bool ServerPart::await_removal() {
  const auto deadline = std::chrono::steady_clock::now() + removal_patience;
  const auto& members = *cluster_->members();
  actor::BlockingAsker self{*system_};
  bool is_removed = false;
  bool waits = true;
  while (waits && std::chrono::steady_clock::now() < deadline) {
    self.request(raft_->node, removal_patience, raft::GetStatus{})
        .receive(
            [&](const raft::RaftStatus& status) {
              const bool is_committed = status.configuration_index <= status.commit_index;
              const bool is_out = !status.configuration.members.empty()
                                  && status.configuration.find(id_) == nullptr;
              is_removed = members.is_removed() || (is_committed && is_out);
              waits = !is_removed && status.configuration.members.size() > 1;
            },
            [&](const Error&) { waits = false; });
    if (!waits) break;
    std::this_thread::sleep_for(removal_pause);
    cluster_->leave(*system_, cluster::MemberStatus::leaving);
  }
  return is_removed;
}

void ServerPart::stop(bool leaving) {
  nodes_ = {};
  locks_ = {};
  schedulers_.reset();
  decisions_ = {};
  actor::BlockingAsker self{*system_};
  if (leaving && cluster_->members()->members()->size() > 1) {
    self.request(raft_->node, removal_patience, raft::TransferLeadership{})
        .receive([](raft::Transferred) {}, [](const Error&) {});  // it did not lead
    // The leader removes who is leaving. That this server has left is said when it is out, or when
    // nobody removes it: there is no leader, or one that waits for that word.
    cluster_->leave(*system_, cluster::MemberStatus::leaving);
    const bool is_removed = await_removal();
    cluster_->leave(*system_, cluster::MemberStatus::left);
    if (is_removed)
      if (const auto retired = retire_identity(directory_); !retired)
        log::error("agent",
                   "the server's identity stays: empty the directory before the next start",
                   {{"path", directory_}, {"error", retired.error()}});
  }
  fsm_->set_listener({});
  actor::stop(raft_->node);
  self.wait_for(raft_->node);
  cluster_->stop();
  actor::stop(server_);
  server_ = server::Server{};
}

}  // namespace nomad::agent
