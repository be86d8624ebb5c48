#include "actors/agent/server_part.hpp"

#include <algorithm>
#include <thread>

#include "actors/agent/server_identity.hpp"
#include "actors/agent/watcher.hpp"
#include "actors/core/supervise.hpp"
#include "actors/server/core_gc.hpp"
#include "actors/server/deployment_watcher.hpp"
#include "actors/server/heartbeat_tracker.hpp"
#include "actors/server/keyring_keeper.hpp"
#include "actors/server/leader.hpp"
#include "actors/server/node_endpoint.hpp"
#include "actors/server/periodic_dispatcher.hpp"
#include "actors/server/plan_applier.hpp"
#include "actors/server/scheduler_worker.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/random.hpp"
#include "runtime/storage/directory.hpp"

namespace nomad::agent {
namespace {

/// With a third of a second of silence before an election, writes go on within half a second of a
/// leader's death. Where machines stall for longer, `raft_multiplier` gives them more.
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
                               const ClusterPart& cluster) {
  raft::RaftOptions options;
  options.directory = config.data_dir + "/server/raft";
  options.self = identity.id;
  options.address = cluster.address();
  options.carrier = cluster.carrier();
  // With others it is founded when all are there. Who left a cluster comes back to it.
  options.bootstrap = config.server.bootstrap_expect == 1 && !identity.has_left;
  options.heartbeat_interval = heartbeat_interval * config.server.raft_multiplier;
  options.election_timeout = election_timeout * config.server.raft_multiplier;
  options.snapshot_threshold = static_cast<std::uint64_t>(config.server.raft_snapshot_threshold);
  options.snapshot_interval
      = std::chrono::duration_cast<std::chrono::seconds>(config.server.raft_snapshot_interval);
  options.trailing_entries = static_cast<std::uint64_t>(config.server.raft_trailing_logs);
  return options;
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
          .node = server.node_gc_threshold};
}

/// Schedulers keep a core busy each; one core is left to the log and the clients.
unsigned worker_count(const config::Server& server) {
  if (server.num_schedulers > 0) return static_cast<unsigned>(server.num_schedulers);
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

}  // namespace

Result<ServerPart> ServerPart::start(actor::System& system,
                                     const config::AgentConfig& config,
                                     const std::string& http_address,
                                     const AgentLinks& links,
                                     std::function<void(const Error&)> on_fatal) {
  NOMAD_TRY(storage::make_private_directory(config.data_dir + "/server"));
  ServerPart part;
  const auto identity = server_identity(config.data_dir + "/server");
  if (!identity) return identity.error();
  part.id_ = identity->id;
  part.directory_ = config.data_dir + "/server";
  state::Store::Options store_options;
  store_options.event_batches = static_cast<std::size_t>(config.server.event_buffer_size);
  part.store_ = std::make_shared<state::Store>(store_options);
  part.fsm_ = std::make_shared<raft::StateFsm>(part.store_);
  auto keyring = security::Keyring::open({.server_id = part.id_,
                                          .directory = config.data_dir + "/server/keystore",
                                          .cluster_secret = config.server.encrypt});
  if (!keyring) return keyring.error();
  part.keyring_ = std::move(*keyring);
  auto cluster = ClusterPart::listen(system, config, part.id_, http_address, links, part.store_);
  if (!cluster) return cluster.error();
  part.system_ = &system;
  part.cluster_.emplace(std::move(*cluster));
  const auto leader = server::spawn_leader(system);
  auto raft = raft::start_raft(system, raft_options(config, *identity, *part.cluster_), part.fsm_,
                               leader);
  if (!raft) {
    actor::stop(leader);
    part.cluster_->stop();
    return raft.error();
  }
  part.raft_.emplace(std::move(*raft));
  part.cluster_->attach(system, *part.raft_);
  const auto watcher = spawn_watcher(system, part.raft_->node, std::move(on_fatal));

  part.spawn_duties(config, leader);
  part.actors_.insert(part.actors_.end(), {actor::Any{leader}, actor::Any{watcher}});
  return part;
}

/// The actors that work while this server leads, and those that serve them.
void ServerPart::spawn_duties(const config::AgentConfig& config, const server::Leader& leader) {
  auto random = Random::from_system();
  const auto& proposer = raft_->proposer;
  const auto broker = server::spawn_eval_broker(*system_, store_, proposer,
                                                {.queue = {}, .random_seed = random.next()});
  const auto nodes
      = server::spawn_node_endpoint(*system_, store_, proposer, raft_->lease, random.next());
  const auto tracker = server::spawn_heartbeat_tracker(
      *system_, store_, proposer,
      {.leases = lease_options(config.server), .random_seed = random.next()});
  const auto applier = server::spawn_plan_applier(*system_, store_, proposer, random.next());
  const auto gc = server::spawn_core_gc(
      *system_, store_, proposer,
      {.interval = config.server.job_gc_interval, .thresholds = gc_thresholds(config.server)});
  const auto deployments = server::spawn_deployment_watcher(*system_, store_, proposer,
                                                            {.random_seed = random.next()});
  const auto periodic = server::spawn_periodic_dispatcher(
      *system_, store_, proposer, {.random_seed = random.next(), .wall_clock = {}});
  nodes_ = {tracker, nodes};
  cluster_->serve_nodes(nodes_);
  writer_.emplace(store_, proposer, raft_->leader);
  cluster_->serve_sealed(*writer_);
  const auto sealed
      = server::spawn_sealed_link(*system_, proposer, cluster_->forwarder(), raft_->leader);
  const auto keeper = server::spawn_keyring_keeper(
      *system_, store_, keyring_, sealed, {.thresholds = {}, .random_seed = random.next()});
  fsm_->set_listener([broker, leader](auto outcomes) {
    const bool replaced = std::any_of(outcomes.begin(), outcomes.end(),
                                      [](const auto& outcome) { return outcome->replaced; });
    actor::tell(broker, server::BatchApplied{std::move(outcomes)});
    if (replaced) actor::tell(leader, server::StateReplaced{});
  });
  for (unsigned i = 0; i < worker_count(config.server); ++i)
    actors_.push_back(server::spawn_scheduler_worker(*system_, store_, proposer, broker, applier,
                                                     {.random_seed = random.next()}));
  for (const auto& duty : {server::LeaderDuty{cluster_->autopilot()}, server::LeaderDuty{broker},
                           server::LeaderDuty{tracker}, gc, deployments, periodic, keeper})
    actor::tell(leader, server::AddDuty{duty});
  for (const actor::Any& each : {actor::Any{keeper}, actor::Any{sealed}, actor::Any{applier},
                                 actor::Any{deployments}, actor::Any{periodic}, actor::Any{gc},
                                 actor::Any{tracker}, actor::Any{nodes}, actor::Any{broker}})
    actors_.push_back(each);
}

/// Until the leader has removed this server; as long as a real operator waits. Whether it has: a
/// server that is out hears no more of the log, so the others are asked, too.
bool ServerPart::await_removal() {
  const auto deadline = std::chrono::steady_clock::now() + removal_patience;
  const auto& members = *cluster_->members();
  actor::Outsider self{*system_};
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
  fsm_->set_listener({});
  for (const auto& each : actors_)
    actor::stop(each);
  actors_.clear();
  nodes_ = {};
  actor::Outsider self{*system_};
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
        log::error("agent", "{}; empty \"{}\" before the next start", retired.error().what,
                   directory_);
  }
  actor::stop(raft_->node);
  self.wait_for(raft_->node);
  cluster_->stop();
}

}  // namespace nomad::agent
