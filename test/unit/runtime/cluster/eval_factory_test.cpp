// Which evaluations a change calls for.
#include "runtime/cluster/eval_factory.hpp"

#include <set>

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::ClientStatus;

namespace {

struct FactoryHarness : Harness {
  std::set<std::string> jobs_of(const std::vector<Object<schema::Evaluation>>& evals) {
    std::set<std::string> jobs;
    for (const auto& eval : evals) {
      CHECK(eval->getStatus() == schema::EvalStatus::PENDING);
      CHECK(is_uuid(view(eval->getId())));
      CHECK(jobs.insert(copy(eval->getJobId())).second);
    }
    return jobs;
  }

  Object<schema::Job> named(const char* id, const char* type = "service") {
    return make_job(1, [&](schema::Job::Builder job) {
      job.setId(id);
      job.setName(id);
      job.setType(type);
    });
  }

  std::vector<Object<schema::Evaluation>> evals_of_report(const state::AllocRef& row,
                                                          ClientStatus status) {
    Draft<schema::Allocation> report;
    report->setId(text(row->alloc->id()));
    report->setClientStatus(status);
    return cluster::evals_for_reports(state(), {report.freeze()}, {now, &random});
  }
};

}  // namespace

TEST_CASE_FIXTURE(FactoryHarness, "a node's evaluations: what is on it, and system jobs") {
  const auto node = add_node();
  process(register_job(named("web")));
  process(register_job(named("agent", "system")));
  register_job(named("elsewhere", "sysbatch"));
  const auto other = add_node([](schema::Node::Builder builder) { builder.setDatacenter("dc2"); });
  const auto evals = cluster::evals_for_node(state(), node, {now, &random});
  CHECK(jobs_of(evals) == std::set<std::string>{"web", "agent"});
  for (const auto& eval : evals) {
    CHECK(view(eval->getNodeId()) == node);
    CHECK(eval->getTriggeredBy() == schema::EvalTrigger::NODE_UPDATE);
  }
  CHECK(jobs_of(cluster::evals_for_node(state(), other, {now, &random}))
        == std::set<std::string>{"agent"});
  CHECK(cluster::evals_for_node(state(), "unknown", {now, &random}).empty());
}

TEST_CASE_FIXTURE(FactoryHarness, "an allocation that was told to end still counts for its node") {
  const auto node = add_node();
  process(register_job(named("web")));
  report_all_running();
  apply([](schema::Command::Builder command) {
    auto stop = command.initJobDeregister();
    stop.setNamespace("default");
    stop.setJobId("web");
  });
  process(evaluate(schema::EvalTrigger::JOB_DEREGISTER));
  REQUIRE(live().empty());
  // The node dies before its client could end it: it must become lost.
  set_status(node, schema::NodeStatus::DOWN);
  const auto evals = cluster::evals_for_node(state(), node, {now, &random});
  REQUIRE(evals.size() == 1);
  write(evals);
  process(state().eval(view(evals[0]->getId())));
  CHECK(allocs()[0]->alloc->client_status() == ClientStatus::LOST);
}

TEST_CASE_FIXTURE(FactoryHarness, "a failure calls for an evaluation, an ordinary end does not") {
  add_node();
  process(register_job(named("web")));
  const auto row = live().at(0);
  const auto evals = evals_of_report(row, ClientStatus::FAILED);
  REQUIRE(evals.size() == 1);
  CHECK(evals[0]->getTriggeredBy() == schema::EvalTrigger::ALLOC_FAILURE);
  CHECK(view(evals[0]->getType()) == "service");
  CHECK(evals_of_report(row, ClientStatus::RUNNING).empty());
  CHECK(evals_of_report(row, ClientStatus::COMPLETE).empty());
  report(row, ClientStatus::FAILED);
  CHECK(evals_of_report(row, ClientStatus::FAILED).empty());  // known already
}

TEST_CASE_FIXTURE(FactoryHarness, "a failure that nothing may replace calls for no evaluation") {
  add_node();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.setType("system");
    job.getTaskGroups()[0].disownReschedulePolicy();
  })));
  // Its scheduler would place it anew as often as it fails.
  CHECK(evals_of_report(live().at(0), ClientStatus::FAILED).empty());

  process(register_job(make_job(1, [](schema::Job::Builder job) {
    job.setId("db");
    job.getTaskGroups()[0].getReschedulePolicy().setUnlimited(false);
  })));
  CHECK(evals_of_report(live("db").at(0), ClientStatus::FAILED).empty());
}

TEST_CASE_FIXTURE(FactoryHarness, "a failure is judged by the policy of its own version, too") {
  add_node();
  const auto with_policy = [this](bool has) {
    return make_job(1, [has](schema::Job::Builder job) {
      if (!has) job.getTaskGroups()[0].disownReschedulePolicy();
    });
  };
  process(register_job(with_policy(true)));
  const auto row = live().at(0);
  register_job(with_policy(false));  // nothing has been decided by it yet
  CHECK(evals_of_report(row, ClientStatus::FAILED).size() == 1);
}

TEST_CASE_FIXTURE(FactoryHarness, "an unknown allocation calls for nothing") {
  Draft<schema::Allocation> report;
  report->setId("00000000-0000-4000-8000-000000000000");
  report->setClientStatus(ClientStatus::FAILED);
  CHECK(cluster::evals_for_reports(state(), {report.freeze()}, {now, &random}).empty());
}

TEST_CASE_FIXTURE(FactoryHarness,
                  "a service that its client ended for want of servers is evaluated") {
  add_node();
  process(register_job(make_job(1, [](schema::Job::Builder job) {
    auto group = job.getTaskGroups()[0];
    SUBCASE("of a field of the group") {
      group.getStopAfterClientDisconnect().setValue(30 * second);
    }
    SUBCASE("of its disconnect block") {
      group.initDisconnect().getStopOnClientAfter().setValue(30 * second);
    }
  })));
  report_all_running();
  Draft<schema::Allocation> ended;
  ended->setId(text(live().at(0)->alloc->id()));
  ended->setClientStatus(schema::ClientStatus::COMPLETE);

  CHECK(cluster::evals_for_reports(state(), {ended.freeze()}, {now, &random}).size() == 1);
}
