#include "test/properties/script.hpp"

#include <algorithm>

#include "runtime/base/ids.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "runtime/cluster/rollout.hpp"
#include "test/properties/inventory.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {

using schema::ClientStatus;
using schema::NodeStatus;

void CountingChecks::on_plan(const Work& work, const scheduler::Plan& plan) {
  PlanChecks::on_plan(work, plan);
  for (const auto& [node, changes] : plan.nodes) {
    counts_.preempted += changes.preemptions.size();
    for (const auto& stop : changes.stops) {
      if (stop.client_status == ClientStatus::LOST) ++counts_.lost;
      if (stop.description == "alloc is being updated due to job update") ++counts_.replacements;
      if (stop.description == "alloc is being migrated") ++counts_.migrated;
    }
    for (const auto& placed : changes.placements) {
      const auto row = *placed.row;
      if (row.getClientStatus() == ClientStatus::UNKNOWN) ++counts_.unknown;
      if (!placed.is_new) {
        ++counts_.in_place;
        continue;
      }
      ++counts_.placements;
      if (row.getDeploymentStatus().getCanary()) ++counts_.canaries;
      if (row.hasRescheduleTracker()) ++counts_.rescheduled;
      counts_.ports += row.getAllocatedResources().getShared().getPorts().size();
      for (const auto task : row.getAllocatedResources().getTasks()) {
        counts_.cores += task.getValue().getCpu().getReservedCores().size();
        counts_.devices += task.getValue().getDevices().size();
      }
    }
  }
}

void CountingChecks::on_commit(const UnderWay& plan,
                               const state::Snapshot& before,
                               const state::Snapshot& after) {
  counts_.rejections += plan.verdict.rejected_nodes.size();
  PlanChecks::on_commit(plan, before, after);
}

Script::Script(const CaseOptions& options, Counts& counts, std::vector<std::string>& trace)
    : options_{options},
      counts_{counts},
      trace_{trace},
      checks_{counts},
      cluster_{options.seed * 3 + 1, options.features, checks_} {}

void Script::run() {
  ++counts_.cases;
  Random setup{options_.seed * 7 + 5};
  cluster_.write(
      [](schema::Command::Builder command) { command.initNodePoolUpsert().setName("other"); });
  for (auto nodes = 1 + setup.below(4); nodes > 0; --nodes)
    add_node(setup);
  for (std::size_t number = 0; number < most_steps; ++number) {
    if (!options_.left_out[number]) step(number);
  }
  come_to_rest();
  counts_.evaluations += cluster_.evaluations_done();
}

void Script::step(std::size_t number) {
  static constexpr Choice choices[] = {
      {&Script::add_node, 3, {}},
      {&Script::change_job, 16, {}},
      {&Script::scale_job, 4, {}},
      {&Script::stop_job, 2, {}},
      {&Script::purge_job, 1, Feature::purges},
      {&Script::change_node_status, 5, Feature::node_loss},
      {&Script::deregister_node, 1, Feature::node_loss},
      {&Script::change_eligibility, 2, Feature::ineligibility},
      {&Script::drain_node, 2, Feature::drains},
      {&Script::change_facts, 2, Feature::node_changes},
      {&Script::report_all, 16, {}},
      {&Script::pass_time, 4, {}},
      {&Script::stop_alloc, 2, Feature::operators},
      {&Script::operate_deployment, 4, Feature::operators},
      {&Script::change_leader, 1, Feature::leader_changes},
      {&Script::lose_work, 2, Feature::crashes},
      {&Script::change_settings, 1, Feature::settings},
      {&Script::reap, 1, {}},
  };
  Random random{options_.seed * 1'000'003 + number};
  cluster_.random = Random{random.next()};
  ++counts_.steps;
  unsigned sum = 0;
  for (const auto& choice : choices)
    sum += choice.weight;
  auto drawn = random.below(sum);
  const auto* chosen = &choices[0];
  for (; drawn >= chosen->weight; ++chosen)
    drawn -= chosen->weight;
  cluster_.now += static_cast<std::int64_t>(random.below(20)) * second;
  if (!chosen->feature || options_.features.has(*chosen->feature)) (this->*chosen->act)(random);
  if (random.chance(0.5))
    cluster_.work_off(400);
  else
    cluster_.work_off(random.below(8));
  check();
}

void Script::check() {
  const auto state = cluster_.state();
  check_nodes(state);
  const auto gave_up = [this](const std::string& job) {
    return std::ranges::any_of(cluster_.blocked(), [&job](const auto& entry) {
      return entry.second->getTriggeredBy() == schema::EvalTrigger::MAX_PLAN_ATTEMPTS
             && view(entry.second->getJobId()) == job;
    });
  };
  for (const auto& job : jobs_)
    if (!cluster_.is_busy(job) && !gave_up(job)) check_surplus(state, job);
}

// Nodes.

std::optional<std::string> Script::some_node(Random& random) const {
  std::vector<std::string> ids;
  const auto state = cluster_.state();
  for (const auto& entry : state.nodes())
    ids.emplace_back(entry.key());
  if (ids.empty()) return std::nullopt;
  return ids[random.below(ids.size())];
}

void Script::register_node(const std::string& id, std::size_t number, Random parts, Random facts) {
  cluster_.write([&](schema::Command::Builder command) {
    fill_node(command.initNodeRegister().initNode(), id, number, parts, facts, options_.features);
  });
}

void Script::add_node(Random& random) {
  if (numbers_.size() >= 8) return;
  const auto id = make_uuid(random);
  const auto number = numbers_.size();
  numbers_.emplace(id, number);
  say("node " + std::to_string(number) + " comes");
  register_node(id, number, Random{options_.seed * 31 + number}, Random{random.next()});
  cluster_.evaluate_node(id);
}

void Script::change_facts(Random& random) {
  const auto id = some_node(random);
  if (!id) return;
  const auto number = numbers_.at(*id);
  say("node " + std::to_string(number) + " has other attributes");
  register_node(*id, number, Random{options_.seed * 31 + number}, Random{random.next()});
}

void Script::set_node_status(const std::string& id, NodeStatus status) {
  cluster_.write([&](schema::Command::Builder command) {
    auto update = command.initNodeStatusUpdate();
    update.setNodeId(text(id));
    update.setStatus(status);
  });
  cluster_.evaluate_node(id);
}

void Script::change_node_status(Random& random) {
  const auto id = some_node(random);
  if (!id) return;
  const auto status = cluster_.state().node(*id)->getStatus();
  const bool away = options_.features.has(Feature::disconnects) && random.chance(0.6);
  const auto next = status == NodeStatus::READY ? away ? NodeStatus::DISCONNECTED : NodeStatus::DOWN
                    : status == NodeStatus::DOWN ? NodeStatus::READY
                    : random.chance(0.3)         ? NodeStatus::DOWN
                                                 : NodeStatus::READY;
  say("node " + std::to_string(numbers_.at(*id)) + " is "
      + (next == NodeStatus::READY  ? "ready"
         : next == NodeStatus::DOWN ? "down"
                                    : "disconnected"));
  set_node_status(*id, next);
}

void Script::deregister_node(Random& random) {
  const auto id = some_node(random);
  if (!id) return;
  say("node " + std::to_string(numbers_.at(*id)) + " is deregistered");
  const auto evals = cluster::evals_for_node(cluster_.state(), *id, {cluster_.now, &random});
  cluster_.write([&](schema::Command::Builder command) {
    auto deregister = command.initNodeDeregister();
    deregister.initNodeIds(1).set(0, text(*id));
    auto list = deregister.initEvaluations(static_cast<unsigned>(evals.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.setWithCaveats(i, *evals[i]);
  });
}

void Script::change_eligibility(Random& random) {
  const auto id = some_node(random);
  if (!id) return;
  const auto node = cluster_.state().node(*id);
  if (node->hasDrainStrategy()) return;
  const bool eligible = node->getSchedulingEligibility() == schema::SchedulingEligibility::ELIGIBLE;
  say("node " + std::to_string(numbers_.at(*id))
      + (eligible ? " takes nothing new" : " takes again"));
  cluster_.write([&](schema::Command::Builder command) {
    auto update = command.initNodeEligibilityUpdate();
    update.setNodeId(text(*id));
    update.setEligibility(eligible ? schema::SchedulingEligibility::INELIGIBLE
                                   : schema::SchedulingEligibility::ELIGIBLE);
  });
  cluster_.evaluate_node(*id);
}

void Script::drain_node(Random& random) {
  const auto id = some_node(random);
  if (!id) return;
  const bool ends = cluster_.state().node(*id)->hasDrainStrategy();
  say("node " + std::to_string(numbers_.at(*id)) + (ends ? " drains no more" : " drains"));
  cluster_.write([&](schema::Command::Builder command) {
    auto update = command.initNodeDrainUpdate();
    update.setNodeId(text(*id));
    if (ends)
      update.setMarkEligible(random.chance(0.5));
    else
      update.initDrainStrategy().setDeadline(3600 * second);
  });
  cluster_.evaluate_node(*id);
}

// Jobs.

void Script::register_job(const Object<schema::Job>& job) {
  jobs_.insert(copy(job->getId()));
  const auto eval = cluster::eval_for_job(*job, schema::EvalTrigger::JOB_REGISTER,
                                          {cluster_.now, &cluster_.random});
  cluster_.write([&](schema::Command::Builder command) {
    command.initJobRegister().setJob(*job);
    command.getJobRegister().setEvaluation(*eval);
  });
}

void Script::change_job(Random& random) {
  const auto number = random.below(job_numbers);
  if (!structures_.contains(number) || random.chance(0.3)) structures_[number] = random.next();
  say(job_id(number) + " is registered");
  register_job(
      make_job(number, Random{structures_[number]}, Random{random.next()}, options_.features));
}

void Script::scale_job(Random& random) {
  const auto id = job_id(random.below(4));
  const auto stored = cluster_.state().job("default", id);
  if (!stored || stored->getStop()) return;
  Draft<schema::Job> draft{stored};
  const auto count = static_cast<std::int64_t>(random.below(6));
  draft->getTaskGroups()[0].setCount(count);
  say(id + " is scaled to " + std::to_string(count));
  register_job(draft.freeze());
}

void Script::stop_job(Random& random) {
  const auto id = job_id(random.below(job_numbers));
  if (!cluster_.state().job("default", id)) return;
  say(id + " is stopped");
  cluster_.write([&](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId(text(id));
  });
  cluster_.evaluate(id, schema::EvalTrigger::JOB_DEREGISTER);
}

void Script::purge_job(Random& random) {
  const auto id = job_id(random.below(job_numbers));
  const auto job = cluster_.state().job("default", id);
  if (!job) return;
  say(id + " is purged");
  const auto eval = cluster::eval_for_job(*job, schema::EvalTrigger::JOB_DEREGISTER,
                                          {cluster_.now, &cluster_.random});
  cluster_.write([&](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId(text(id));
    stop.setPurge(true);
    stop.setEvaluation(*eval);
  });
}

// Clients.

void Script::report_all(Random& random) {
  std::vector<Cluster::Report> reports;
  const auto state = cluster_.state();
  for (const auto& entry : state.allocs()) {
    const auto& row = entry.value();
    const auto alloc = *row->alloc;
    const auto node = state.node(view(alloc.getNodeId()));
    if (has_ended(alloc) || !node || node->getStatus() != NodeStatus::READY || !random.chance(0.6))
      continue;
    const bool once
        = !view(row->job->getType()).starts_with("s") || view(row->job->getType()) == "sysbatch";
    const bool deployed = alloc.getDeploymentId().size() > 0;
    Cluster::Report report{.alloc_id = copy(alloc.getId())};
    if (alloc.getDesiredStatus() != schema::DesiredStatus::RUN) {
      report.status = ClientStatus::COMPLETE;
    } else if (options_.features.has(Feature::failures) && random.chance(0.12)) {
      report.status = ClientStatus::FAILED;
      if (deployed) report.healthy = false;
    } else if (once && random.chance(0.3)) {
      report.status = ClientStatus::COMPLETE;
    } else if (deployed && random.chance(0.8)) {
      report.healthy = !(options_.features.has(Feature::health) && random.chance(0.06));
    }
    reports.push_back(std::move(report));
  }
  say("clients report of " + std::to_string(reports.size()));
  cluster_.report(reports);
}

void Script::pass_time(Random& random) {
  const auto due = cluster_.next_due();
  const auto passes = static_cast<std::int64_t>(random.below(400)) * second;
  cluster_.now = due && random.chance(0.7) ? *due : cluster_.now + passes;
  say("time passes");
}

// Operators.

void Script::stop_alloc(Random& random) {
  std::vector<state::AllocRef> live;
  const auto state = cluster_.state();
  for (const auto& entry : state.allocs())
    if (is_live(*entry.value()->alloc)) live.push_back(entry.value());
  if (live.empty()) return;
  const auto row = live[random.below(live.size())];
  say("an allocation of " + copy(row->alloc->getJobId()) + " is stopped");
  cluster_.write([&](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(row->alloc->getId());
    entry.initTransition().getMigrate().setValue(true);
  });
  cluster_.evaluate(copy(row->alloc->getJobId()), schema::EvalTrigger::ALLOC_STOP);
}

void Script::set_status(const Object<schema::Deployment>& deployment,
                        schema::DeploymentState status,
                        const char* description) {
  const auto eval
      = cluster::deployment_eval(cluster_.state(), deployment, {cluster_.now, &cluster_.random});
  cluster_.write([&](schema::Command::Builder command) {
    auto update = command.initDeploymentStatusUpdate();
    update.initUpdate().setDeploymentId(deployment->getId());
    update.getUpdate().setStatus(status);
    update.getUpdate().setStatusDescription(description);
    if (eval) update.setEvaluation(*eval);
  });
}

/// As far as its canaries are healthy.
void Script::promote(const Object<schema::Deployment>& deployment) {
  const auto state = cluster_.state();
  for (const auto group : deployment->getTaskGroups()) {
    if (group.getValue().getPromoted()) continue;
    std::int64_t healthy = 0;
    for (const auto id : group.getValue().getPlacedCanaries()) {
      const auto row = state.alloc(view(id));
      if (!row || !is_live(*row->alloc)) continue;
      const auto health = row->alloc->getDeploymentStatus().getHealthy();
      if (health.isValue() && health.getValue()) ++healthy;
    }
    if (healthy < group.getValue().getDesiredCanaries()) return;
  }
  say("the deployment of " + copy(deployment->getJobId()) + " is promoted");
  ++counts_.promoted;
  const auto eval = cluster::deployment_eval(state, deployment, {cluster_.now, &cluster_.random});
  cluster_.write([&](schema::Command::Builder command) {
    auto promotion = command.initDeploymentPromotion();
    promotion.setDeploymentId(deployment->getId());
    promotion.setAll(true);
    if (eval) promotion.setEvaluation(*eval);
  });
}

void Script::operate_deployment(Random& random) {
  std::vector<Object<schema::Deployment>> active;
  const auto state = cluster_.state();
  for (const auto& entry : state.deployments())
    if (state::is_active(entry.value()->getStatus())) active.push_back(entry.value());
  if (active.empty()) return;
  const auto deployment = active[random.below(active.size())];
  const bool paused = deployment->getStatus() == schema::DeploymentState::PAUSED;
  const auto name = "the deployment of " + copy(deployment->getJobId());
  switch (random.below(4)) {
    case 0:
      say(name + (paused ? " goes on" : " is paused"));
      return paused ? set_status(deployment, schema::DeploymentState::RUNNING, "running")
                    : set_status(deployment, schema::DeploymentState::PAUSED, "paused");
    case 1:
      say(name + " is failed");
      return set_status(deployment, schema::DeploymentState::FAILED, "failed by hand");
    default:
      return promote(deployment);
  }
}

// Servers.

void Script::change_leader(Random&) {
  say("another server leads");
  cluster_.change_leader();
}

void Script::lose_work(Random&) {
  say("a worker loses an evaluation");
  cluster_.lose_work();
}

void Script::change_settings(Random& random) {
  say("the scheduler configuration changes");
  cluster_.write([&](schema::Command::Builder command) {
    auto config = command.initSchedulerConfiguration();
    config.setSchedulerAlgorithm(random.chance(0.5) ? "spread" : "binpack");
    config.setMemoryOversubscriptionEnabled(random.chance(0.5));
    auto preemption = config.initPreemptionConfig();
    const bool on = options_.features.has(Feature::preemption);
    preemption.setSystemSchedulerEnabled(on && random.chance(0.8));
    preemption.setSysBatchSchedulerEnabled(on && random.chance(0.5));
    preemption.setBatchSchedulerEnabled(on && random.chance(0.5));
    preemption.setServiceSchedulerEnabled(on && random.chance(0.5));
  });
}

/// Collects ended evaluations and what they have placed, if that has ended, too.
void Script::reap(Random&) {
  const auto state = cluster_.state();
  std::vector<std::string> evals;
  std::vector<std::string> allocs;
  for (const auto& entry : state.evals()) {
    if (!state::is_terminal(entry.value()->getStatus())) continue;
    const auto job = state.job("default", view(entry.value()->getJobId()));
    const auto placed = state.allocs_by_eval(entry.key());
    if (job && !job->getStop() && !placed.empty()) continue;
    if (!std::ranges::all_of(placed, [](const auto& row) { return has_ended(*row->alloc); }))
      continue;
    evals.emplace_back(entry.key());
    for (const auto& row : placed)
      allocs.push_back(copy(row->alloc->getId()));
  }
  say("garbage is collected");
  cluster_.write([&](schema::Command::Builder command) {
    auto reap = command.initReap();
    const auto fill = [](auto list, const std::vector<std::string>& ids) {
      for (unsigned i = 0; i < list.size(); ++i)
        list.set(i, text(ids[i]));
    };
    fill(reap.initEvaluationIds(static_cast<unsigned>(evals.size())), evals);
    fill(reap.initAllocationIds(static_cast<unsigned>(allocs.size())), allocs);
  });
}

// The end.

std::vector<Cluster::Report> Script::reports_of_calm_clients(bool ends_batch) const {
  std::vector<Cluster::Report> reports;
  const auto state = cluster_.state();
  for (const auto& entry : state.allocs()) {
    const auto alloc = *entry.value()->alloc;
    const auto node = state.node(view(alloc.getNodeId()));
    if (has_ended(alloc) || !node || node->getStatus() != NodeStatus::READY) continue;
    Cluster::Report report{.alloc_id = copy(alloc.getId())};
    const bool wanted = alloc.getDesiredStatus() == schema::DesiredStatus::RUN;
    const bool unjudged
        = alloc.getDeploymentId().size() > 0 && !alloc.getDeploymentStatus().getHealthy().isValue();
    const bool is_batch = view(entry.value()->job->getType()).ends_with("batch");
    if (!wanted || (ends_batch && is_batch)) {
      report.status = ClientStatus::COMPLETE;
    } else if (alloc.getClientStatus() == ClientStatus::RUNNING && !unjudged) {
      continue;
    } else if (unjudged) {
      report.healthy = true;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

/// What people and clients do until all is well; false when there is nothing left to do.
bool Script::calm_down() {
  if (cluster_.retry_failed()) return true;
  const auto reports = reports_of_calm_clients(false);
  if (!reports.empty()) {
    cluster_.report(reports);
    return true;
  }
  const auto state = cluster_.state();
  for (const auto& entry : state.deployments()) {
    const auto& deployment = entry.value();
    if (deployment->getStatus() == schema::DeploymentState::PAUSED) {
      set_status(deployment, schema::DeploymentState::RUNNING, "running");
      return true;
    }
    if (deployment->getStatus() != schema::DeploymentState::RUNNING) continue;
    const auto before = counts_.promoted;
    if (any(deployment->getTaskGroups(), [](auto group) {
          return group.getValue().getDesiredCanaries() > 0 && !group.getValue().getPromoted();
        }))
      promote(deployment);
    if (counts_.promoted != before) return true;
  }
  return false;
}

void Script::come_to_rest() {
  say("the cluster comes to rest");
  constexpr std::size_t most_work = 3000;
  constexpr int most_rounds = 250;
  const auto before = cluster_.evaluations_done();
  if (Random{options_.seed}.chance(0.5)) cluster_.report(reports_of_calm_clients(true));
  // These are not told of each change that could help them, and give up after too many conflicts.
  for (const auto& id : jobs_) {
    const auto job = cluster_.state().job("default", id);
    if (job && view(job->getType()).starts_with("sys"))
      cluster_.evaluate(id, schema::EvalTrigger::NODE_UPDATE);
  }
  for (int round = 0;; ++round) {
    require(round < most_rounds && cluster_.work_off(most_work),
            "the number of evaluations is bounded",
            std::to_string(cluster_.evaluations_done() - before) + " while nothing happens");
    check();
    if (calm_down()) continue;
    const auto due = cluster_.next_due();
    if (!due) break;
    cluster_.now = *due;
  }
  counts_.most_evaluations
      = std::max<std::uint64_t>(counts_.most_evaluations, cluster_.evaluations_done() - before);
  check_rest();
}

void Script::check_rest() {
  const auto state = cluster_.state();
  for (const auto& id : jobs_) {
    const bool waits = std::ranges::any_of(cluster_.blocked(), [&id](const auto& entry) {
      return view(entry.second->getJobId()) == id;
    });
    if (waits) ++counts_.waiting;
    check_settled(state, id, waits);
  }
  // What a failed deployment held back may go on in place once others have left room for it: no
  // evaluation waits for that.
  for (const auto& id : jobs_) {
    const auto deployment = state.latest_deployment("default", id);
    if (!deployment || deployment->getStatus() != schema::DeploymentState::FAILED) continue;
    cluster_.evaluate(id, schema::EvalTrigger::NODE_UPDATE);
    cluster_.work_off(200);
  }
  checks_.nothing_to_do = true;
  for (const auto& id : jobs_) {
    if (!state.job("default", id)) continue;
    cluster_.evaluate(id, schema::EvalTrigger::NODE_UPDATE);
    require(cluster_.work_off(200), "the number of evaluations is bounded",
            "after one that changes nothing, of " + id);
  }
}

}  // namespace nomad::properties
