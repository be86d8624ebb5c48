// DrainHarness: a scheduler's harness in which nodes drain: what the drain plan says is written,
// the evaluations that follow are processed, clients report.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "runtime/cluster/drain/drain_commands.hpp"
#include "runtime/cluster/drain/drain_plan.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

namespace nomad::test {

struct DrainHarness : Harness {
  using Harness::write;
  using Ids = std::vector<std::string>;

  Ids live_before;  ///< The allocations of the service that was run last, as they were placed.

  Object<schema::Job> make_service(std::int64_t count,
                                   std::int64_t max_parallel,
                                   const std::string& id = "web") {
    return make_job(count, [&](schema::Job::Builder job) {
      job.setId(text(id));
      job.setName(text(id));
      auto group = job.getTaskGroups()[0];
      group.initMigrate().setMaxParallel(max_parallel);
      auto resources = group.getTasks()[0].getResources();
      resources.setCpu(100);
      resources.setMemoryMb(64);
    });
  }

  /// A service whose allocations run and are healthy.
  void run_service(std::int64_t count, std::int64_t max_parallel, const std::string& id = "web") {
    process(register_job(make_service(count, max_parallel, id)));
    live_before.clear();
    for (const auto& row : live(id.c_str())) {
      report(row, schema::ClientStatus::RUNNING, true);
      live_before.push_back(std::string{row->alloc->id()});
    }
  }

  /// A job of another type with one allocation, which runs on `node`.
  void run_job(const std::string& id, const std::string& type, const std::string& node) {
    process(register_job(make_job(1, [&](schema::Job::Builder job) {
      job.setId(text(id));
      job.setName(text(id));
      job.setType(text(type));
      auto constraint = job.initConstraints(1)[0];
      constraint.setLTarget("${node.unique.id}");
      constraint.setRTarget(text(node));
      constraint.setOperand("=");
    })));
    REQUIRE(live(id.c_str()).size() == 1);
    report(live(id.c_str()).at(0), schema::ClientStatus::RUNNING);
  }

  void drain(const std::string& node, cluster::DrainSpec spec = {}) {
    update(node, {.spec = spec});
  }

  void cancel(const std::string& node) { update(node, {.mark_eligible = true}); }

  void update(const std::string& node, const cluster::DrainRequest& request) {
    const auto decision = cluster::decide_drain(state(), anybody(), node, request, {now, &random});
    REQUIRE(decision.has_value());
    write_command(decision->command);
  }

  /// Writes a command, and runs the evaluations that follow.
  void write_command(const Object<schema::Command>& command) {
    for (const auto& eval : write_only(command))
      if (eval->getStatus() == schema::EvalStatus::PENDING) process(eval);
  }

  std::vector<Object<schema::Evaluation>> write_only(const Object<schema::Command>& command) {
    REQUIRE(command);
    auto outcome = store.apply(++next_index, *command);
    store.publish();
    REQUIRE_FALSE(outcome.error);
    return outcome.evals;
  }

  cluster::DrainRound plan_round(const std::set<std::string>& nodes,
                                 const std::set<cluster::DrainedJob>& jobs) {
    return cluster::next_drain_round(state(), nodes, jobs, {now, &random});
  }

  /// Of all draining nodes, and the jobs that they wait for.
  cluster::DrainRound plan_round() {
    const auto ids = state().draining_nodes();
    const std::set<std::string> nodes{ids.begin(), ids.end()};
    std::set<cluster::DrainedJob> jobs;
    for (const auto& [id, outlook] : plan_round(nodes, {}).nodes)
      jobs.insert(outlook.jobs.begin(), outlook.jobs.end());
    return plan_round(nodes, jobs);
  }

  cluster::DrainOutlook outlook(const std::string& node) {
    return plan_round({node}, {}).nodes.at(node);
  }

  /// Decides and writes.
  cluster::DrainRound round() {
    auto plan = plan_round();
    for (const auto& command : plan.commands)
      write_command(command);
    return plan;
  }

  static bool is_marked(const state::AllocRef& row) {
    return row->alloc->transition().getMigrate().isValue();
  }

  Ids marked(const char* job = "web") const {
    Ids ids;
    for (const auto& row : allocs(job))
      if (is_marked(row)) ids.push_back(std::string{row->alloc->id()});
    return ids;
  }

  /// Clients end what is to stop.
  void end_marked() {
    for (const auto& row : allocs())
      if (row->server_terminal && !row->client_terminal)
        report(row, schema::ClientStatus::COMPLETE);
  }

  void report_sick(const state::AllocRef& row) {
    apply([&](schema::Command::Builder command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(text(row->alloc->id()));
      alloc.setNodeId(text(row->alloc->node_id()));
      alloc.setClientStatus(schema::ClientStatus::RUNNING);
      alloc.setModifyTime(now);
      alloc.initDeploymentStatus().getHealthy().setValue(false);
    });
  }

  /// Up to `most` that run on other nodes than `node` become healthy.
  void report_health_elsewhere(const std::string& node, int most) {
    for (const auto& row : live()) {
      if (row->alloc->node_id() == node || row->alloc->health().has_value() || most-- <= 0)
        continue;
      report(row, schema::ClientStatus::RUNNING, true);
    }
  }

  std::string last_event(const std::string& node) const {
    const auto events = state().node(node)->getEvents();
    const auto last = events[events.size() - 1];
    return copy(last.getSubsystem()) + ": " + copy(last.getMessage());
  }

  std::string last_detail(const std::string& node) const {
    const auto events = state().node(node)->getEvents();
    std::string shown;
    for (const auto detail : events[events.size() - 1].getDetails())
      shown += (shown.empty() ? "" : " ") + copy(detail.getKey()) + "=" + copy(detail.getValue());
    return shown;
  }

  // -- a life at random -------------------------------------------------------------------------

  struct Limits {
    std::string job;
    std::int64_t count = 0;
    std::int64_t max_parallel = 0;
  };

  bool is_healthy(const state::AllocRef& row) const {
    const auto health = row->alloc->deployment_status().getHealthy();
    return !row->terminal() && !is_marked(row) && health.isValue() && health.getValue();
  }

  std::int64_t healthy(const std::string& job) const {
    return std::ranges::count_if(allocs(job.c_str()),
                                 [&](const auto& row) { return is_healthy(row); });
  }

  /// One round without deadlines, and what it must keep to.
  void checked_round(const std::vector<Limits>& jobs) {
    std::vector<Ids> before;
    std::vector<std::int64_t> healthy_before;
    for (const auto& job : jobs) {
      before.push_back(marked(job.job.c_str()));
      healthy_before.push_back(healthy(job.job));
    }
    const auto system_before = marked("sys");
    std::set<std::string> once;
    for (const auto& command : plan_round().commands) {
      if (command->isAllocTransition())
        for (const auto entry : command->getAllocTransition().getEntries()) {
          const auto row = state().alloc(view(entry.getAllocId()));
          REQUIRE_FALSE(is_marked(row));
          REQUIRE_FALSE(row->terminal());
          REQUIRE(state().node(row->alloc->node_id())->hasDrainStrategy());
          REQUIRE(once.insert(copy(entry.getAllocId())).second);
        }
      write_only(command);
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto fresh = marked(jobs[i].job.c_str()).size() - before[i].size();
      REQUIRE(static_cast<std::int64_t>(fresh) <= jobs[i].max_parallel);
      const auto left = healthy(jobs[i].job);
      if (left < healthy_before[i]) REQUIRE(left >= jobs[i].count - jobs[i].max_parallel);
    }
    if (marked("sys").size() > system_before.size()) check_last();
    process_pending();
  }

  /// System allocations that are marked are alone on their nodes.
  void check_last() const {
    for (const auto& row : allocs("sys")) {
      if (!is_marked(row) || row->terminal()) continue;
      const auto snapshot = state();
      for (const auto& other : snapshot.allocs_by_node(row->alloc->node_id()))
        REQUIRE((other.value()->client_terminal || other.value()->alloc->job_id() == "sys"));
    }
  }

  void process_pending() {
    std::vector<Object<schema::Evaluation>> pending;
    const auto snapshot = state();
    for (const auto& entry : snapshot.evals())
      if (entry.value()->getStatus() == schema::EvalStatus::PENDING)
        pending.push_back(entry.value());
    for (const auto& eval : pending)
      process(eval);
  }

  void report_somehow(const state::AllocRef& row) {
    if (row->client_terminal) return;
    if (row->server_terminal) {
      if (random.chance(0.5)) report(row, schema::ClientStatus::COMPLETE);
    } else if (random.chance(0.1)) {
      report_sick(row);
    } else if (random.chance(0.5)) {
      report(row, schema::ClientStatus::RUNNING, true);
    }
  }

  /// Nodes begin and cease to drain while clients report; in the end all that drain are empty.
  void live_through(std::uint64_t world) {
    Ids nodes;
    for (int i = 0; i < 4; ++i)
      nodes.push_back(add_node());
    std::vector<Limits> jobs;
    for (int i = 0; i < 3; ++i) {
      jobs.push_back({"job-" + std::to_string(i), 1 + static_cast<std::int64_t>(random.below(5)),
                      1 + static_cast<std::int64_t>(random.below(2))});
      run_service(jobs.back().count, jobs.back().max_parallel, jobs.back().job);
    }
    run_job("sys", "system", nodes[0]);
    for (int step = 0; step < 60; ++step) {
      const auto& node = nodes[random.below(nodes.size())];
      if (random.chance(0.1))
        drain(node, {.ignore_system_jobs = random.chance(0.5)});
      else if (random.chance(0.1))
        cancel(node);
      const auto snapshot = state();
      for (const auto& entry : snapshot.allocs())
        report_somehow(entry.value());
      now += second;
      process_pending();
      checked_round(jobs);
    }
    settle_drains(nodes[world % nodes.size()], jobs);
  }

  /// With `spare` to go to and everybody healthy, all drains come to an end.
  void settle_drains(const std::string& spare, const std::vector<Limits>& jobs) {
    cancel(spare);
    for (int step = 0; step < 60 && !state().draining_nodes().empty(); ++step) {
      const auto snapshot = state();
      for (const auto& entry : snapshot.allocs()) {
        const auto& row = entry.value();
        if (row->client_terminal) continue;
        if (row->server_terminal)
          report(row, schema::ClientStatus::COMPLETE);
        else
          report(row, schema::ClientStatus::RUNNING, true);
      }
      now += second;
      process_pending();
      for (const auto& job : jobs)  // What was blocked for want of room: nobody wakes it here.
        process(evaluate(schema::EvalTrigger::QUEUED_ALLOCS, job.job.c_str()));
      checked_round(jobs);
    }
    REQUIRE(state().draining_nodes().empty());
    const auto snapshot = state();
    for (const auto& entry : snapshot.nodes()) {
      if (entry.value()->getSchedulingEligibility() == schema::SchedulingEligibility::ELIGIBLE)
        continue;
      for (const auto& alloc : snapshot.allocs_by_node(entry.key()))
        REQUIRE((alloc.value()->terminal() || alloc.value()->alloc->job_id() == "sys"));
    }
  }
};

}  // namespace nomad::test
