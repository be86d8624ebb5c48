#include "actors/server/server.hpp"

#include <algorithm>
#include <map>

#include "actors/server/data/identity_endpoint.hpp"
#include "actors/server/deployment_watchers.hpp"
#include "actors/server/eval_broker.hpp"
#include "actors/server/periodic_dispatcher.hpp"
#include "actors/server/plan_applier.hpp"
#include "actors/server/scheduler_pool.hpp"
#include "actors/server/volumes/volume_endpoint.hpp"
#include "runtime/base/log.hpp"

namespace nomad::server {
namespace {

struct ServerState {
  static constexpr const char* name = "server";

  std::vector<LeaderDuty> duties;
  std::map<actor::Address, LeaderDuty> renews;  ///< By whose loss of state.
  bool leads = false;
};

using ServerPointer = Server::stateful_pointer<ServerState>;

void add_duty(ServerPointer self, const AddDuty& msg) {
  auto& state = self->state;
  for (const auto& helper : msg.helpers)
    state.renews[helper.address()] = msg.duty;
  if (!state.renews.try_emplace(msg.duty.address(), msg.duty).second) return;
  state.duties.push_back(msg.duty);
  actor::send_urgent(self, msg.duty, Lead{state.leads});
}

Server::behavior_type server_actor(ServerPointer self) {
  actor::on_down(self, [self](const actor::Down& down) {
    if (!down.restarted) return;
    const auto duty = self->state.renews.find(down.source);
    if (duty != self->state.renews.end())
      actor::send_urgent(self, duty->second, Lead{self->state.leads});
  });
  return {
      [self](const raft::LeadershipChanged& msg) {
        auto& state = self->state;
        if (msg.ready == state.leads) return;
        state.leads = msg.ready;
        log::info("leader", msg.ready ? "gained leadership" : "lost leadership",
                  {{"term", msg.term}});
        for (const auto& duty : state.duties)
          actor::send_urgent(self, duty, Lead{state.leads});
      },
      [self](const AddDuty& msg) { add_duty(self, msg); },
      [self](const StateReplaced&) {
        auto& state = self->state;
        if (!state.leads) return;
        log::info("leader", "the state was replaced: everything that derives from it begins anew");
        for (const bool leads : {false, true})
          for (const auto& duty : state.duties)
            actor::send_urgent(self, duty, Lead{leads});
      },
  };
}

/// Nothing where this region is its own authority.
LeaderDuty replicate(const actor::Owner& owner,
                     const ServerParts& parts,
                     ReplicatorOptions options,
                     std::uint64_t random_seed) {
  if (options.authority.empty()) return {};
  options.random_seed = random_seed;
  return spawn_replicator(owner, parts.store, parts.proposer, parts.keyring, parts.forwarder,
                          std::move(options));
}

}  // namespace

Server spawn_server(const actor::Owner& owner) {
  return actor::spawn(owner, server_actor);
}

namespace {

/// A worker that has lost its state has lost the evaluations that were its: they are given out
/// again.
std::shared_ptr<SchedulerPool> start_workers(
    const Server& server,
    const ServerParts& parts,
    const EvalBroker& broker,
    const PlanApplier& applier,
    const DutyOptions& options,
    const std::shared_ptr<telemetry::ServerMetrics>& metrics) {
  const SchedulerWorkerOptions common{.job_types = options.job_types,
                                      .decisions = options.decisions,
                                      .metrics = metrics,
                                      .detached = options.detached_workers,
                                      .region = options.region};
  auto spawn
      = [=, store = parts.store, proposer = parts.proposer](const SchedulerPool::Worker& wanted) {
          auto own = common;
          own.id = wanted.id;
          own.types = wanted.types;
          auto worker = spawn_scheduler_worker(actor::Owner{server}, store, proposer, broker,
                                               applier, std::move(own));
          actor::tell(server, AddDuty{broker, {actor::Any{worker}}});
          return worker;
        };
  actor::tell(server, AddDuty{broker});
  return std::make_shared<SchedulerPool>(std::move(spawn), options.schedulers);
}

identity::IssuingKeys issuing_keys(const ServerParts& parts) {
  return {.own = identity::signing_keys(parts.keyring),
          .for_others = parts.rsa_keys ? parts.rsa_keys : identity::rsa_keys(parts.keyring)};
}

/// Bounded by what the log takes at once.
void tell_of_locks(const LockTracker& tracker, const OutcomeFeed::Outcomes& outcomes) {
  LocksChanged changed;
  for (const auto& outcome : outcomes) {
    const auto& variable = outcome->variable;
    if (!outcome->locking.empty())
      changed.variables.push_back(outcome->locking);
    else if (!outcome->error && variable && variable->hasLock())
      changed.written.push_back({state::kind::Variables::key(*variable),
                                 copy(variable->getLock().getId()), variable->getModifyIndex()});
  }
  if (!changed.variables.empty() || !changed.written.empty())
    actor::tell(tracker, std::move(changed));
}

/// Only that there is something: the volumes are looked at together.
void tell_of_volumes(const VolumeEndpoint& volumes, const OutcomeFeed::Outcomes& outcomes) {
  const bool concerned = std::any_of(outcomes.begin(), outcomes.end(), [](const auto& outcome) {
    return outcome->volumes_changed || !outcome->nodes_freed.empty() || outcome->replaced;
  });
  if (concerned) actor::tell(volumes, VolumesChanged{});
}

VolumeEndpoint spawn_volumes(const actor::Owner& owner, const ServerParts& parts) {
  return spawn_volume_endpoint(owner, {.store = parts.store,
                                       .proposer = parts.proposer,
                                       .lease = parts.lease,
                                       .keyring = parts.keyring,
                                       .nodes = parts.nodes});
}

/// Has the duties hear of what is applied.
void listen(const Server& server,
            const ServerParts& parts,
            const EvalBroker& broker,
            const LockTracker& locks,
            const VolumeEndpoint& volumes) {
  const auto feed = std::make_shared<OutcomeFeed>(broker);
  parts.fsm->set_listener([feed, server, locks, volumes](auto outcomes) {
    tell_of_locks(locks, outcomes);
    tell_of_volumes(volumes, outcomes);
    const bool replaced = std::any_of(outcomes.begin(), outcomes.end(),
                                      [](const auto& outcome) { return outcome->replaced; });
    feed->add(std::move(outcomes));
    if (replaced) actor::tell(server, StateReplaced{});
  });
}

}  // namespace

Duties start_duties(const Server& server,
                    const ServerParts& parts,
                    DutyOptions options,
                    Random& random) {
  const actor::Owner owner{server};
  const auto& store = parts.store;
  const auto& proposer = parts.proposer;
  const auto metrics = telemetry::ServerMetrics::make(options.metrics);
  const auto broker = spawn_eval_broker(owner, store, proposer,
                                        {.queue = {},
                                         .random_seed = random.next(),
                                         .default_configuration = options.default_configuration,
                                         .metrics = metrics});
  const auto nodes = spawn_node_endpoint(owner, store, proposer, parts.lease, random.next());
  const auto data
      = spawn_data_endpoint(owner, store, parts.keyring, parts.lease, options.enforces_access);
  const auto identities = spawn_identity_endpoint(owner, store, issuing_keys(parts), parts.lease,
                                                  {.issuer = options.oidc_issuer,
                                                   .detached = options.detached_workers,
                                                   .makes_keys = options.detached_workers});
  options.heartbeats.random_seed = random.next();
  options.heartbeats.metrics = metrics;
  const auto tracker = spawn_heartbeat_tracker(owner, store, proposer, options.heartbeats);
  options.plans.metrics = metrics;
  options.plans.region = options.region;
  const auto applier
      = spawn_plan_applier(owner, store, proposer, random.next(), std::move(options.plans));
  options.gc.metrics = metrics;
  const auto gc = spawn_core_gc(owner, store, proposer, options.gc);
  options.deployments.random_seed = random.next();
  const auto deployments = spawn_deployment_watchers(owner, store, proposer, options.deployments);
  options.drainer.random_seed = random.next();
  const auto drainer = spawn_node_drainer(owner, store, proposer, options.drainer);
  const auto periodic = spawn_periodic_dispatcher(owner, store, proposer,
                                                  {.random_seed = random.next(), .wall_clock = {}});
  options.keyring.random_seed = random.next();
  const auto rotator
      = spawn_keyring_rotator(owner, store, parts.keyring, parts.sealed, options.keyring);
  const auto locks = spawn_lock_tracker(owner, store, proposer, parts.lease);
  const auto volumes = spawn_volumes(owner, parts);
  const auto rows = spawn_region_rows(owner, store, parts.keyring, parts.lease);
  options.replication.metrics = metrics;
  const auto replicator = replicate(owner, parts, std::move(options.replication), random.next());
  const auto schedulers = start_workers(server, parts, broker, applier, options, metrics);
  listen(server, parts, broker, locks, volumes);
  Duties duties{{tracker, nodes, data, identities, NodeDoor{volumes}}, rows, locks, schedulers, {}};
  for (const auto& worker : schedulers->workers())
    duties.all.emplace_back(worker.actor);
  for (const LeaderDuty& duty : {LeaderDuty{tracker}, LeaderDuty{applier}, LeaderDuty{gc},
                                 LeaderDuty{deployments}, LeaderDuty{drainer}, LeaderDuty{periodic},
                                 LeaderDuty{rotator}, LeaderDuty{locks}, LeaderDuty{volumes}})
    actor::tell(server, AddDuty{duty});
  if (replicator) {
    actor::tell(server, AddDuty{replicator});
    duties.all.emplace_back(replicator);
  }
  for (const actor::Any& each :
       {actor::Any{broker}, actor::Any{nodes}, actor::Any{data}, actor::Any{identities},
        actor::Any{tracker}, actor::Any{applier}, actor::Any{gc}, actor::Any{deployments},
        actor::Any{drainer}, actor::Any{periodic}, actor::Any{rotator}, actor::Any{locks},
        actor::Any{volumes}, actor::Any{rows}})
    duties.all.push_back(each);
  return duties;
}

}  // namespace nomad::server
