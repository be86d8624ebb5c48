#include "test/properties/script.hpp"

#include <algorithm>

#include "runtime/object/enum_name.hpp"
#include "test/properties/inventory.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {

using schema::ClientStatus;
using schema::NodeStatus;

Script::Script(const CaseOptions& options, Counts& counts, std::vector<std::string>& trace)
    : options_{options},
      counts_{counts},
      trace_{trace},
      checks_{counts},
      profile_{Profile::of(options.seed)},
      cluster_{options.seed * 3 + 1, options.features, checks_, counts} {
  if (options.tells_all) checks_.account = &trace;
}

Profile Profile::of(std::uint64_t seed) {
  Random random{seed * 11 + 3};
  Profile profile;
  for (std::size_t number = 0; number < job_numbers; ++number)
    if (random.chance(0.6)) profile.jobs.push_back(number);
  if (profile.jobs.empty()) profile.jobs.push_back(0);
  for (auto& weight : profile.weights)
    weight = random.chance(0.2) ? 0 : 1 + static_cast<unsigned>(random.below(3));
  for (const std::size_t needed :
       {1UL, 8UL, 11UL})  // jobs are registered, nodes mended, clients report
    profile.weights[needed] = std::max(profile.weights[needed], 1U);
  profile.other_job = random.chance(0.5) ? 0.3 : 0.05;
  profile.taste.updates = random.chance(0.5) ? 0.6 : 0.95;
  profile.taste.canaries = random.chance(0.5) ? 0.3 : 0.8;
  profile.preemption = random.chance(0.5) ? 0.3 : 1;
  profile.begins_with_all = random.chance(0.5);
  return profile;
}

void Script::run() {
  ++counts_.cases;
  Random setup{options_.seed * 7 + 5};
  cluster_.write(
      [](schema::Command::Builder command) { command.initNodePoolUpsert().setName("other"); });
  if (setup.chance(0.5)) write_settings(setup);
  for (auto nodes = 2 + setup.below(6); nodes > 0; --nodes)
    add_node(setup);
  if (profile_.begins_with_all) {
    for (std::size_t i = 0; i < profile_.jobs.size(); ++i)
      change_job(setup);
    cluster_.work_off(200);
    report_all(setup);
  }
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
      {&Script::mend_nodes, 6, {}},
      {&Script::drain_node, 4, Feature::drains},
      {&Script::change_facts, 2, Feature::node_changes},
      {&Script::report_all, 20, {}},
      {&Script::pass_time, 4, {}},
      {&Script::stop_alloc, 2, Feature::operators},
      {&Script::operate_deployment, 4, Feature::operators},
      {&Script::change_leader, 2, Feature::leader_changes},
      {&Script::lose_work, 2, Feature::crashes},
      {&Script::change_settings, 1, Feature::settings},
      {&Script::reap, 1, {}},
  };
  Random random{options_.seed * 1'000'003 + number};
  cluster_.random = Random{random.next()};
  ++counts_.steps;
  static_assert(std::size(choices) == Profile::most_acts);
  const auto weight = [this](std::size_t at) { return choices[at].weight * profile_.weights[at]; };
  unsigned sum = 0;
  for (std::size_t at = 0; at < std::size(choices); ++at)
    sum += weight(at);
  auto drawn = random.below(std::max(sum, 1U));
  std::size_t at = 0;
  for (; at + 1 < std::size(choices) && drawn >= weight(at); ++at)
    drawn -= weight(at);
  const auto* chosen = &choices[at];
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
  for (const auto& job : jobs_) {
    if (cluster_.is_busy(job) || cluster_.waits(job, true)) continue;
    try {
      check_surplus(state, job, checks_.partly_refused.contains(job));
    } catch (const Violation&) {
      for (const auto& entry : state.evals_by_job("default", job))
        say(job + " has an evaluation " + copy(entry.value()->getId()).substr(0, 8) + " ("
            + std::string{enum_name(entry.value()->getTriggeredBy())} + ", "
            + std::string{enum_name(entry.value()->getStatus())} + ") of "
            + std::to_string(entry.value()->getCreateIndex()) + ", changed at "
            + std::to_string(entry.value()->getModifyIndex()));
      throw;
    }
  }
}

/// With the time since the case began.
void Script::say(const std::string& text) {
  trace_.push_back(std::to_string((cluster_.now - begin_) / second) + " s: " + text);
}

// The end.

std::vector<Cluster::Report> Script::reports_of_calm_clients(bool ends_batch) const {
  std::vector<Cluster::Report> reports;
  const auto state = cluster_.state();
  for (const auto& entry : state.allocs()) {
    const auto alloc = *entry.value()->alloc;
    const auto node = state.node(alloc.node_id());
    if (has_ended(alloc) || !node || node->getStatus() != NodeStatus::READY) continue;
    Cluster::Report report{.alloc_id = std::string{alloc.id()}};
    const bool wanted = alloc.desired_status() == schema::DesiredStatus::RUN;
    const bool unjudged
        = (!alloc.deployment_id().empty() || view(entry.value()->job->getType()) == "service")
          && !alloc.deployment_status().getHealthy().isValue();
    const bool is_batch = view(entry.value()->job->getType()).ends_with("batch");
    if (!wanted || (ends_batch && is_batch)) {
      report.status = ClientStatus::COMPLETE;
    } else if (alloc.client_status() == ClientStatus::RUNNING && !unjudged) {
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
  const auto reports = reports_of_calm_clients(false);
  if (!reports.empty()) {
    cluster_.report(reports);
    return true;
  }
  if (cluster_.retry_failed()) return true;
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

/// These are not told of each change that could help them, and give up after too many conflicts.
void Script::evaluate_system_jobs() {
  for (const auto& id : jobs_) {
    const auto job = cluster_.state().job("default", id);
    if (job && view(job->getType()).starts_with("sys"))
      cluster_.evaluate(id, schema::EvalTrigger::NODE_UPDATE);
  }
}

void Script::come_to_rest() {
  say("the cluster comes to rest");
  if (Random{options_.seed * 13 + 1}.chance(0.7)) mend_nodes();
  constexpr std::size_t most_work = 3000;
  constexpr int most_rounds = 250;
  const auto before = cluster_.evaluations_done();
  if (Random{options_.seed}.chance(0.5)) cluster_.report(reports_of_calm_clients(true));
  evaluate_system_jobs();
  bool evaluated_again = false;
  for (int round = 0;; ++round) {
    require(round < most_rounds && cluster_.work_off(most_work), property::evaluations_bounded,
            std::to_string(cluster_.evaluations_done() - before) + " while nothing happens");
    check();
    if (calm_down()) continue;
    if (const auto due = cluster_.next_due()) {
      cluster_.now = *due;
      continue;
    }
    if (evaluated_again) break;
    evaluated_again = true;
    evaluate_system_jobs();
  }
  counts_.most_evaluations
      = std::max<std::uint64_t>(counts_.most_evaluations, cluster_.evaluations_done() - before);
  check_rest();
}

void Script::check_rest() {
  const auto state = cluster_.state();
  for (const auto& id : jobs_) {
    const bool waits = cluster_.waits(id);
    if (waits) ++counts_.waiting;
    check_settled(state, id, waits, checks_.partly_refused.contains(id));
  }
  check_ended(state, cluster_.now);
  for (const auto& id : jobs_) {
    if (!is_left_to_chance(state, id)) continue;
    cluster_.evaluate(id, schema::EvalTrigger::NODE_UPDATE);
    cluster_.work_off(200);
  }
  checks_.nothing_to_do = true;
  for (const auto& id : jobs_) {
    if (!state.job("default", id)) continue;
    cluster_.evaluate(id, schema::EvalTrigger::NODE_UPDATE);
    require(cluster_.work_off(200), property::evaluations_bounded,
            "after one that changes nothing, of " + id);
  }
}

}  // namespace nomad::properties
