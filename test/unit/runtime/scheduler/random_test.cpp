// A cluster under random jobs, nodes, failures and conflicting plans: the invariants that must hold
// whatever happens.
#include <set>

#include "runtime/scheduler/plan/capacity.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

namespace {

struct RandomCluster : Harness {
  explicit RandomCluster(std::uint64_t seed) : draw{seed} { random = Random{seed + 1000}; }

  Random draw;
  std::vector<std::string> nodes;
  std::set<std::string> jobs;

  void step() {
    now += static_cast<std::int64_t>(draw.below(40)) * second;
    switch (draw.below(9)) {
      case 0:
        return grow();
      case 1:
      case 2:
        return change_job();
      case 3:
        return stop_job();
      case 4:
        return change_node();
      case 5:
      case 6:
        return report_something();
      case 7:
        return conflict();
      default:
        return evaluate_all();
    }
  }

  void grow() {
    if (nodes.size() >= 6) return;
    nodes.push_back(add_node([this](schema::Node::Builder node) {
      node.getNodeResources().getCpu().setCpuShares(
          1000 + 500 * static_cast<std::int64_t>(draw.below(7)));
    }));
    evaluate_all();
  }

  std::string some_job() { return "job-" + std::to_string(draw.below(4)); }

  Object<schema::Job> random_job(const std::string& id) {
    const bool rolls = draw.chance(0.5);
    const auto parallel = 1 + static_cast<std::int64_t>(draw.below(3));
    const auto config = "{\"v\":" + std::to_string(draw.below(3)) + "}";
    const bool batch = id == "job-3";
    const bool port = draw.chance(0.4);
    const bool distinct = draw.chance(0.2);
    return make_job(static_cast<std::int64_t>(draw.below(7)), [&](schema::Job::Builder job) {
      job.setId(text(id));
      job.setName(text(id));
      if (batch) job.setType("batch");
      auto group = job.getTaskGroups()[0];
      group.getTasks()[0].setConfig(text(config));
      if (rolls && !batch) group.initUpdate().setMaxParallel(parallel);
      if (distinct) job.initConstraints(1)[0].setOperand("distinct_hosts");
      if (!port) return;
      auto wanted = group.initNetworks(1)[0].initReservedPorts(1)[0];
      wanted.setLabel("http");
      wanted.setValue(8000 + static_cast<int>(draw.below(3)));
    });
  }

  void change_job() {
    const auto id = some_job();
    jobs.insert(id);
    process(register_job(random_job(id)));
  }

  void stop_job() {
    const auto id = some_job();
    if (!jobs.contains(id)) return;
    apply([&](schema::Command::Builder command) {
      auto stop = command.initJobDeregister();
      stop.setNamespace("default");
      stop.setJobId(text(id));
    });
    process(evaluate(EvalTrigger::JOB_DEREGISTER, id.c_str()));
  }

  void change_node() {
    if (nodes.empty()) return;
    const auto& node = nodes[draw.below(nodes.size())];
    const auto up = state().node(node)->getStatus() == schema::NodeStatus::READY;
    set_status(node, up ? schema::NodeStatus::DOWN : schema::NodeStatus::READY);
    evaluate_all();
  }

  void report_something() {
    for (const auto& id : jobs) {
      for (const auto& row : allocs(id.c_str())) {
        if (row->client_terminal || !draw.chance(0.4)) continue;
        const auto node = state().node(row->alloc->node_id());
        if (!node || node->getStatus() != schema::NodeStatus::READY) continue;
        if (row->server_terminal) {
          report(row, ClientStatus::COMPLETE);
        } else if (draw.chance(0.2)) {
          report(row, ClientStatus::FAILED);
        } else {
          report(row, ClientStatus::RUNNING, true);
        }
      }
    }
    evaluate_all();
  }

  void evaluate_all() {
    for (const auto& id : jobs)
      process(evaluate(EvalTrigger::NODE_UPDATE, id.c_str()));
  }

  /// Two plans made on one state are submitted one after the other.
  void conflict() {
    const auto first = some_job();
    const auto second_id = "job-" + std::to_string((draw.below(3) + 1 + first.back() - '0') % 4);
    if (first == second_id) return;
    jobs.insert({first, second_id});
    const auto evals = {register_job(random_job(first)), register_job(random_job(second_id))};
    std::vector<Step> steps;
    const auto snapshot = state();
    for (const auto& eval : evals) {
      auto scheduler = make_scheduler(eval, seed++);
      steps.push_back(scheduler->start({snapshot, now, nullptr}));
    }
    for (auto& step : steps) {
      if (step.plan)
        submit(*step.plan);
      else
        write(step.evaluations);
    }
  }

  /// No node gives more than it has.
  void check_nodes() {
    const auto snapshot = state();
    for (const auto& id : nodes) {
      const auto node = snapshot.node(id);
      const auto capacity = Capacity::of(*node);
      state::Demand sum;
      std::set<int> ports;
      for (const auto& entry : snapshot.allocs_by_node(id)) {
        const auto& row = entry.value();
        // A stopping allocation's room is given away with its stop; what still uses it is ending.
        if (row->client_terminal || row->server_terminal) continue;
        sum += row->demand;
        for (const auto port : row->alloc->resources().getShared().getPorts())
          REQUIRE(ports.insert(port.getValue()).second);
      }
      REQUIRE(capacity.exhausted_by(sum) == "");
    }
  }

  /// Never two live allocations of one name and version, never more than wanted.
  void check_jobs() {
    const auto snapshot = state();
    for (const auto& id : jobs) {
      const auto job = snapshot.job("default", id);
      std::set<std::string> names;
      std::size_t wanted = 0;
      for (const auto& row : live(id.c_str())) {
        const auto key
            = std::string{row->alloc->name()} + "@" + std::to_string(row->alloc->job_version());
        REQUIRE(names.insert(key).second);
        ++wanted;
      }
      const auto count = job->getStop() ? 0 : job->getTaskGroups()[0].getCount();
      REQUIRE(wanted <= static_cast<std::size_t>(count));
    }
  }
};

}  // namespace

TEST_CASE("random clusters keep the invariants and come to rest") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    RandomCluster cluster{seed};
    cluster.grow();
    for (int step = 0; step < 60; ++step) {
      CAPTURE(step);
      cluster.step();
      cluster.check_nodes();
    }
    cluster.evaluate_all();
    cluster.check_jobs();
    // A fixpoint: nothing changed, so nothing is to be done.
    for (const auto& id : cluster.jobs) {
      CAPTURE(id);
      cluster.process(cluster.evaluate(EvalTrigger::NODE_UPDATE, id.c_str()));
      REQUIRE(cluster.plans.empty());
    }
  }
}
