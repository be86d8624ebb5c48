// Preemption by whole evaluations: who is allowed to, what is written, and what follows.
#include <set>

#include "runtime/scheduler/dry_run.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;
using schema::DesiredStatus;
using schema::EvalStatus;
using schema::EvalTrigger;

namespace {

struct PreemptionHarness : Harness {
  /// Whose schedulers may preempt.
  void allow(std::set<std::string> types, const char* algorithm = "binpack") {
    apply([&](schema::Command::Builder command) {
      auto config = command.initSchedulerConfiguration();
      config.setSchedulerAlgorithm(algorithm);
      auto preemption = config.initPreemptionConfig();
      preemption.setServiceSchedulerEnabled(types.contains("service"));
      preemption.setBatchSchedulerEnabled(types.contains("batch"));
      preemption.setSystemSchedulerEnabled(types.contains("system"));
      preemption.setSysBatchSchedulerEnabled(types.contains("sysbatch"));
    });
  }

  /// A job of so many MHz for each allocation.
  Object<schema::Job> job(const char* id,
                          const char* type,
                          std::int64_t priority,
                          std::int64_t cpu,
                          std::int64_t count = 1,
                          const EditJob& edit = {}) {
    return make_job(count, [&](schema::Job::Builder job) {
      job.setId(id);
      job.setName(id);
      job.setType(type);
      job.setPriority(priority);
      job.getTaskGroups()[0].getTasks()[0].getResources().setCpu(cpu);
      if (edit) edit(job);
    });
  }

  /// Registers and processes it.
  Object<schema::Evaluation> run(const Object<schema::Job>& job) {
    return process(register_job(job));
  }

  std::vector<state::AllocRef> evicted(const char* job_id) {
    auto rows = allocs(job_id);
    std::erase_if(rows, [](const state::AllocRef& row) {
      return row->alloc->desired_status() != DesiredStatus::EVICT;
    });
    return rows;
  }

  Object<schema::Evaluation> eval_of(const char* job_id, EvalTrigger trigger) {
    const auto snapshot = state();
    for (const auto& entry : snapshot.evals_by_job("default", job_id))
      if (entry.value()->getTriggeredBy() == trigger) return entry.value();
    return {};
  }
};

}  // namespace

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: by default only system jobs preempt") {
  add_node();
  run(job("low", "service", 20, 3000));
  for (const auto* type : {"service", "batch", "sysbatch"}) {
    const auto eval = run(job(type, type, 90, 3000));
    CHECK(live(type).empty());
    CHECK(eval->getFailedTgAllocs().size() == 1);
  }
  CHECK(evicted("low").empty());
  run(job("sys", "system", 90, 3000));
  CHECK(live("sys").size() == 1);
  CHECK(evicted("low").size() == 1);
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: each type of job by its own setting") {
  for (const std::string type : {"service", "batch", "system", "sysbatch"}) {
    PreemptionHarness other;
    other.allow({type});
    other.add_node();
    other.run(other.job("low", "service", 20, 3000));
    other.run(other.job("high", type.c_str(), 90, 3000));
    CHECK(other.live("high").size() == 1);
    CHECK(other.evicted("low").size() == 1);
  }
}

TEST_CASE_FIXTURE(PreemptionHarness,
                  "preemption: both sides know each other, and it is evaluated") {
  allow({"service"});
  add_node();
  run(job("low", "service", 20, 3000));
  report_all_running();
  run(job("high", "service", 90, 3000));
  REQUIRE(live("high").size() == 1);
  REQUIRE(evicted("low").size() == 1);
  const auto winner = live("high")[0];
  const auto loser = evicted("low")[0];
  CHECK(loser->alloc->preempted_by() == winner->alloc->id());
  CHECK(loser->alloc->desired_description()
        == "Preempted by alloc ID " + std::string{winner->alloc->id()});
  REQUIRE(winner->alloc->preempted().size() == 1);
  CHECK(view(winner->alloc->preempted()[0]) == loser->alloc->id());

  const auto eval = eval_of("low", EvalTrigger::PREEMPTION);
  REQUIRE(eval);
  CHECK(eval->getPriority() == 20);
  CHECK(process(eval)->getBlockedEval().size() > 0);
  report(loser, ClientStatus::COMPLETE);
  add_node();
  process(evaluate(EvalTrigger::QUEUED_ALLOCS, "low"));
  CHECK(live("low").size() == 1);
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: who was told to stop is not preempted as well") {
  allow({"service"});
  add_node();
  run(job("leaving", "service", 10, 1900));
  run(job("low", "service", 20, 1900));
  report_all_running();
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("leaving");
  });
  process(evaluate(EvalTrigger::JOB_DEREGISTER, "leaving"));

  run(job("high", "service", 90, 1500));

  CHECK(evicted("leaving").empty());
  CHECK(evicted("low").size() == 1);
  CHECK(live("high").size() == 1);
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: nobody goes as long as another node has room") {
  allow({"service"});
  add_node();
  run(job("low", "service", 20, 3000));
  const auto other = add_node();
  run(job("high", "service", 90, 3000));
  CHECK(evicted("low").empty());
  CHECK(live("high").at(0)->alloc->node_id() == other);
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: not by a priority that is hardly higher") {
  allow({"service"});
  add_node();
  run(job("low", "service", 50, 3000));
  CHECK(run(job("high", "service", 59, 3000))->getFailedTgAllocs().size() == 1);
  run(job("higher", "service", 60, 3000));
  CHECK(evicted("low").size() == 1);
}

TEST_CASE_FIXTURE(PreemptionHarness,
                  "preemption: the node that loses the least important is taken") {
  allow({"service"});
  const auto place = [this](const char* id, std::int64_t priority) {
    run(job(id, "service", priority, 3900));
    return std::string{live(id).at(0)->alloc->node_id()};
  };
  for (int i = 0; i < 3; ++i)
    add_node();
  place("a", 40);
  const auto cheapest = place("b", 10);
  place("c", 30);
  run(job("high", "service", 90, 3000));
  CHECK(evicted("b").size() == 1);
  CHECK(live("high").at(0)->alloc->node_id() == cheapest);
  const auto metric = live("high")[0]->metric;
  bool scored = false;
  for (const auto score : metric->getScoreMetaData()[0].getScores())
    scored = scored || view(score.getKey()) == "preemption";
  CHECK(scored);
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: what goes for one placement goes for no other") {
  allow({"service"});
  add_node();
  run(job("low", "service", 20, 1000, 4));
  const auto eval = run(job("high", "service", 90, 2000, 3));
  CHECK(live("high").size() == 2);
  CHECK(evicted("low").size() == 4);
  CHECK(eval->getQueuedAllocations()[0].getValue() == 1);
  std::set<std::string> ids;
  for (const auto& row : live("high"))
    for (const auto id : row->alloc->preempted())
      CHECK(ids.insert(copy(id)).second);
  CHECK(ids.size() == 4);
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: for a static port, whoever holds it") {
  allow({"service"});
  add_node();
  const auto with_port = [](schema::Job::Builder job) {
    auto port = job.getTaskGroups()[0].initNetworks(1)[0].initReservedPorts(1)[0];
    port.setLabel("http");
    port.setValue(8080);
  };
  run(job("port", "service", 20, 100, 1, with_port));
  run(job("free", "service", 20, 100));
  run(job("high", "service", 90, 100, 1, with_port));
  CHECK(evicted("port").size() == 1);
  CHECK(evicted("free").empty());
  REQUIRE(live("high").size() == 1);
  CHECK(live("high")[0]->alloc->resources().getShared().getPorts()[0].getValue() == 8080);
  SUBCASE("but no one who is as important") {
    const auto eval = run(job("same", "service", 90, 100, 1, with_port));
    CHECK(evicted("high").empty());
    const auto dimensions = eval->getFailedTgAllocs()[0].getValue().getDimensionExhausted();
    REQUIRE(dimensions.size() == 1);
    CHECK(view(dimensions[0].getKey()) == "network: port collision");  // of the evicted, too
  }
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: for a device, whoever has it") {
  allow({"service"});
  add_node([](schema::Node::Builder node) {
    auto group = node.getNodeResources().initDevices(1)[0];
    group.setVendor("nvidia");
    group.setType("gpu");
    group.setName("1080ti");
    auto instance = group.initInstances(1)[0];
    instance.setId("a");
    instance.setHealthy(true);
  });
  const auto with_gpu = [](schema::Job::Builder job) {
    auto device = job.getTaskGroups()[0].getTasks()[0].getResources().initDevices(1)[0];
    device.setName("gpu");
    device.setCount(1);
  };
  run(job("gpu", "batch", 20, 100, 1, with_gpu));
  run(job("free", "batch", 20, 100));
  run(job("high", "service", 90, 100, 1, with_gpu));
  CHECK(evicted("gpu").size() == 1);
  CHECK(evicted("free").empty());
  CHECK(live("high").size() == 1);
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: a system job makes room on each node") {
  for (int i = 0; i < 3; ++i)
    add_node();
  run(job("low", "service", 20, 3900, 3));
  run(job("sys", "system", 90, 1000));
  CHECK(live("sys").size() == 3);
  CHECK(evicted("low").size() == 3);
  CHECK(last_updates.at("api").preemptions == 3);
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: preempted work of a sysbatch job is over") {
  allow({"service"});
  add_node();
  run(job("once", "sysbatch", 20, 3000));
  run(job("high", "service", 90, 3000));
  REQUIRE(evicted("once").size() == 1);
  report(evicted("once")[0], ClientStatus::COMPLETE);  // as killed tasks do
  report(live("high")[0], ClientStatus::COMPLETE);
  process(evaluate(EvalTrigger::PREEMPTION, "once"));
  CHECK(live("once").empty());
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: a dry run tells whom it would cost") {
  allow({"service"});
  add_node();
  run(job("low", "batch", 20, 3000));
  const auto planned = dry_run(state(), job("high", "service", 90, 3000), true, now, 1);
  REQUIRE(planned.has_value());
  REQUIRE(planned->preempted.size() == 1);
  CHECK(planned->preempted[0]->alloc->job_id() == "low");
  CHECK(view(planned->preempted[0]->job->getType()) == "batch");
  CHECK(planned->preempted[0]->alloc->desired_status() == DesiredStatus::RUN);
  REQUIRE(planned->desired_updates.size() == 1);
  CHECK(planned->desired_updates[0].second.preemptions == 1);
  CHECK(evicted("low").empty());
}

TEST_CASE_FIXTURE(PreemptionHarness, "preemption: the same state and seed give the same plan") {
  allow({"service"});
  for (int i = 0; i < 6; ++i)
    add_node();
  run(job("a", "service", 10, 1000, 12));
  run(job("b", "service", 20, 1000, 12));
  const auto eval = register_job(job("high", "service", 90, 1500, 8));
  const auto snapshot = state();
  const auto decide = [&] {
    auto scheduler = make_scheduler(eval, 7);
    auto step = scheduler->start({snapshot, now, nullptr});
    REQUIRE(step.plan);
    std::string text;
    for (const auto& [node, changes] : step.plan->nodes) {
      text += node + ":";
      for (const auto& stop : changes.preemptions)
        text += std::string{stop.alloc->alloc->id()} + ">" + stop.preempted_by + " ";
      for (const auto& placed : changes.placements)
        text += std::string{placed.row->id()} + " ";
    }
    return text;
  };
  const auto first = decide();
  CHECK(first.find('>') != std::string::npos);
  CHECK(decide() == first);
}
