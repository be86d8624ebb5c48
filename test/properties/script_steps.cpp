// What happens in a case: to nodes, to jobs, by clients, operators and servers.
#include <algorithm>

#include "runtime/base/ids.hpp"
#include "runtime/cluster/drain/drain_commands.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "runtime/cluster/node_commands.hpp"
#include "test/properties/inventory.hpp"
#include "test/properties/script.hpp"
#include "test/properties/violation.hpp"
#include "test/support/anybody.hpp"

namespace nomad::properties {

using schema::ClientStatus;
using schema::NodeStatus;

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
  if (numbers_.size() >= 10) return;
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

/// As servers do: some of the plans that were under way when it was decided are written first, and
/// what these brought to the node is evaluated afterwards. `fill` returns what it has filled.
template <class Fill>
void Script::change_node(const std::string& id, Fill fill) {
  const cluster::EvalSeed seed{cluster_.now, &cluster_.random};
  const auto evals = cluster::evals_for_node(cluster_.state(), id, seed);
  cluster::NodeDecision decided{access::own_work("nodes")};
  decided.evaluates = id;
  for (const auto& eval : evals)
    decided.eval_ids.push_back(copy(eval->getId()));
  cluster_.write_some();
  cluster_.write([&](schema::Command::Builder command) {
    auto list = fill(command).initEvaluations(static_cast<unsigned>(evals.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.setWithCaveats(i, *evals[i]);
  });
  const auto more = cluster::decide_latecomers(cluster_.state(), decided, seed);
  if (!more.command) return;
  ++counts_.latecomers;
  cluster_.apply(more.command);
}

void Script::set_node_status(const std::string& id, NodeStatus status) {
  change_node(id, [&](schema::Command::Builder command) {
    auto update = command.initNodeStatusUpdate();
    update.setNodeId(text(id));
    update.setStatus(status);
    return update;
  });
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
  change_node(*id, [&](schema::Command::Builder command) {
    auto deregister = command.initNodeDeregister();
    deregister.initNodeIds(1).set(0, text(*id));
    return deregister;
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
  change_node(*id, [&](schema::Command::Builder command) {
    auto update = command.initNodeEligibilityUpdate();
    update.setNodeId(text(*id));
    update.setEligibility(eligible ? schema::SchedulingEligibility::INELIGIBLE
                                   : schema::SchedulingEligibility::ELIGIBLE);
    return update;
  });
}

/// All nodes are ready, eligible, and not drained: else everything would stand still soon.
void Script::mend_nodes() {
  say("all nodes are well");
  const auto state = cluster_.state();
  for (const auto& entry : state.nodes()) {
    const auto node = *entry.value();
    const std::string id{entry.key()};
    const bool is_open = node.getSchedulingEligibility() == schema::SchedulingEligibility::ELIGIBLE;
    if (node.getStatus() == NodeStatus::READY && is_open) continue;
    if (node.getStatus() != NodeStatus::READY) set_node_status(id, NodeStatus::READY);
    if (is_open) continue;
    const auto decision
        = cluster::decide_drain(cluster_.state(), test::anybody(), id, {.mark_eligible = true},
                                {cluster_.now, &cluster_.random});
    if (decision && decision->command) cluster_.apply(decision->command);
  }
}

void Script::mend_nodes(Random&) {
  mend_nodes();
}

void Script::drain_node(Random& random) {
  const auto id = some_node(random);
  if (!id) return;
  const auto state = cluster_.state();
  cluster::DrainRequest wish{.mark_eligible = random.chance(0.5)};
  if (!state.node(*id)->hasDrainStrategy() || random.chance(0.3)) {
    const auto luck = random.below(10);
    const auto deadline = luck == 0  ? -1
                          : luck < 3 ? 0
                                     : static_cast<std::int64_t>(30 + random.below(900)) * second;
    wish.spec = cluster::DrainSpec{deadline, random.chance(0.3)};
    ++counts_.drains;
  }
  say("node " + std::to_string(numbers_.at(*id))
      + (wish.spec ? " drains, for " + std::to_string(wish.spec->deadline / second) + " s"
                   : " drains no more"));
  const auto decision
      = cluster::decide_drain(state, test::anybody(), *id, wish, {cluster_.now, &cluster_.random});
  if (decision && decision->command) cluster_.apply(decision->command);
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
  const auto number = profile_.jobs[random.below(profile_.jobs.size())];
  if (!structures_.contains(number) || random.chance(profile_.other_job))
    structures_[number] = random.next();
  say(job_id(number) + " is registered");
  register_job(make_job(number, Random{structures_[number]}, Random{random.next()}, profile_.taste,
                        options_.features));
}

void Script::scale_job(Random& random) {
  const auto id = job_id(profile_.jobs[random.below(profile_.jobs.size())]);
  const auto stored = cluster_.state().job("default", id);
  if (!stored || stored->getStop() || view(stored->getType()).starts_with("sys")) return;
  Draft<schema::Job> draft{stored};
  const auto count = static_cast<std::int64_t>(random.below(6));
  draft->getTaskGroups()[0].setCount(count);
  say(id + " is scaled to " + std::to_string(count));
  register_job(draft.freeze());
}

void Script::stop_job(Random& random) {
  const auto id = job_id(profile_.jobs[random.below(profile_.jobs.size())]);
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
  const auto id = job_id(profile_.jobs[random.below(profile_.jobs.size())]);
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
    const auto node = state.node(alloc.node_id());
    if (has_ended(alloc) || !node || node->getStatus() != NodeStatus::READY || !random.chance(0.6))
      continue;
    const bool once
        = !view(row->job->getType()).starts_with("s") || view(row->job->getType()) == "sysbatch";
    // Clients judge what is deployed, and what may be migrated.
    const bool judged = !alloc.deployment_id().empty() || view(row->job->getType()) == "service";
    Cluster::Report report{.alloc_id = std::string{alloc.id()}};
    if (alloc.desired_status() != schema::DesiredStatus::RUN) {
      report.status = ClientStatus::COMPLETE;
    } else if (options_.features.has(Feature::failures) && random.chance(0.12)) {
      report.status = ClientStatus::FAILED;
      if (judged) report.healthy = false;
    } else if (once && random.chance(0.3)) {
      report.status = ClientStatus::COMPLETE;
    } else if (judged && random.chance(0.8)) {
      const auto before = alloc.deployment_status().getHealthy();
      const bool is_lame = before.isValue() && !before.getValue();  // that is for good
      report.healthy = !(options_.features.has(Feature::health) && random.chance(0.06)) && !is_lame;
    }
    reports.push_back(std::move(report));
  }
  auto told = "clients report of " + std::to_string(reports.size());
  for (const auto& report : reports)
    if (report.status != ClientStatus::RUNNING || report.healthy)
      told += ", " + report.alloc_id.substr(0, 8) + " "
              + (report.status == ClientStatus::FAILED     ? "failed"
                 : report.status == ClientStatus::COMPLETE ? "complete"
                 : *report.healthy                         ? "healthy"
                                                           : "unhealthy");
  say(std::move(told));
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
  say("an allocation of " + std::string{row->alloc->job_id()} + " is stopped");
  cluster_.write([&](schema::Command::Builder command) {
    auto entry = command.initAllocTransition().initEntries(1)[0];
    entry.setAllocId(text(row->alloc->id()));
    entry.initTransition().getMigrate().setValue(true);
  });
  cluster_.evaluate(std::string{row->alloc->job_id()}, schema::EvalTrigger::ALLOC_STOP);
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
  std::vector<std::string> groups;
  for (const auto group : deployment->getTaskGroups()) {
    if (group.getValue().getPromoted()) continue;
    groups.push_back(copy(group.getKey()));
    std::int64_t healthy = 0;
    for (const auto id : group.getValue().getPlacedCanaries()) {
      const auto row = state.alloc(view(id));
      if (!row || !is_live(*row->alloc)) continue;
      const auto health = row->alloc->deployment_status().getHealthy();
      if (health.isValue() && health.getValue()) ++healthy;
    }
    if (healthy < group.getValue().getDesiredCanaries()) return;
  }
  if (groups.empty()) return;
  say("the deployment of " + copy(deployment->getJobId()) + " is promoted");
  ++counts_.promoted;
  const auto eval = cluster::deployment_eval(state, deployment, {cluster_.now, &cluster_.random});
  cluster_.write([&](schema::Command::Builder command) {
    auto promotion = command.initDeploymentPromotion();
    promotion.setDeploymentId(deployment->getId());
    auto names = promotion.initGroups(static_cast<unsigned>(groups.size()));
    for (unsigned i = 0; i < names.size(); ++i)
      names.set(i, text(groups[i]));
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

void Script::change_leader(Random& random) {
  const bool same = random.chance(0.4);
  say(same ? "the leader leads again" : "another server leads");
  cluster_.change_leader(same);
}

void Script::lose_work(Random&) {
  say("a worker loses an evaluation");
  cluster_.lose_work();
}

void Script::change_settings(Random& random) {
  say("the scheduler configuration changes");
  write_settings(random);
}

void Script::write_settings(Random& random) {
  cluster_.write([&](schema::Command::Builder command) {
    auto config = command.initSchedulerConfiguration();
    config.setSchedulerAlgorithm(random.chance(0.5) ? "spread" : "binpack");
    config.setMemoryOversubscriptionEnabled(random.chance(0.5));
    auto preemption = config.initPreemptionConfig();
    const bool on = options_.features.has(Feature::preemption);
    preemption.setSystemSchedulerEnabled(on && random.chance(0.8));
    preemption.setSysBatchSchedulerEnabled(on && random.chance(profile_.preemption));
    preemption.setBatchSchedulerEnabled(on && random.chance(profile_.preemption));
    preemption.setServiceSchedulerEnabled(on && random.chance(profile_.preemption));
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
      allocs.push_back(std::string{row->alloc->id()});
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

}  // namespace nomad::properties
