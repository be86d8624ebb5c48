// Plans under circumstances: nodes that drain, that are gone, that are added.
#include "runtime/scheduler/what_if.hpp"

#include "runtime/scheduler/dry_run.hpp"
#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

using Kind = Circumstance::Kind;

struct WhatIf : Harness {
  Result<DryRun> plan(const Object<schema::Job>& job,
                      const std::vector<Circumstance>& circumstances,
                      bool is_changed = false) {
    return dry_run(state(), job, is_changed, now, 1, "global", circumstances);
  }

  std::uint64_t placed(const DryRun& run, const std::string& node = {}) const {
    std::uint64_t count = 0;
    for (const auto& [group, nodes] : run.placed)
      for (const auto& [id, there] : nodes)
        if (node.empty() || id == node) count += there.count;
    return count;
  }

  void start_all(const char* job) {
    for (const auto& row : live(job))
      report(row, schema::ClientStatus::RUNNING);
  }

  Object<schema::Job> other(const char* id, std::int64_t priority, std::int64_t count) {
    return make_job(count, [&](schema::Job::Builder job) {
      job.setId(id);
      job.setName(id);
      job.setPriority(priority);
    });
  }
};

}  // namespace

TEST_CASE_FIXTURE(WhatIf, "what if: a node drains, and what runs there moves") {
  const auto first = add_node();
  process(register_job(make_job(4)));
  report_all_running();
  const auto second = add_node();
  const auto before = state().index();

  const auto run = plan(make_job(4), {{Kind::drain, first}});

  REQUIRE(run.has_value());
  CHECK(run->desired_updates[0].second.migrate == 4);
  CHECK(placed(*run, second) == 4);
  CHECK(placed(*run) == 4);
  CHECK(state().index() == before);
  CHECK_FALSE(state().node(first)->hasDrainStrategy());
  CHECK(live().size() == 4);
}

TEST_CASE_FIXTURE(WhatIf, "what if: a node is gone, and there is room for a part only") {
  const auto first = add_node();
  process(register_job(make_job(8)));  // all of its cpu
  report_all_running();
  const auto small = add_node(
      [](schema::Node::Builder node) { node.getNodeResources().getCpu().setCpuShares(1500); });

  const auto run = plan(make_job(8), {{Kind::remove, first}});

  REQUIRE(run.has_value());
  CHECK(placed(*run, small) == 3);
  REQUIRE(run->failed_groups.size() == 1);
  CHECK(run->failed_groups[0].second->getCoalescedFailures() == 4);
  CHECK(state().node(first)->getStatus() == schema::NodeStatus::READY);
}

TEST_CASE_FIXTURE(WhatIf,
                  "what if: nodes like another are added, empty and with names of their own") {
  const auto full = add_node([](schema::Node::Builder node) {
    auto attributes = node.initAttributes(3);
    attributes[0].setKey("driver.mock_driver");
    attributes[0].setValue("1");
    attributes[1].setKey("kernel.name");
    attributes[1].setValue("linux");
    attributes[2].setKey("unique.hostname");
    attributes[2].setValue("here");
  });
  process(register_job(make_job(12)));
  report_all_running();
  REQUIRE(live().size() == 8);

  const auto run = plan(make_job(12), {{Kind::add, full, 2}});

  REQUIRE(run.has_value());
  CHECK(placed(*run) == 4);
  CHECK(placed(*run, full) == 0);
  CHECK(run->failed_groups.empty());
  const auto& [id, there] = *run->placed.at("api").begin();
  CHECK_FALSE(state().node(id));
  CHECK(there.node_name.find("-like-") != std::string::npos);

  // What is unique to the one that they are like is not theirs.
  const auto bound = make_job(12, [](schema::Job::Builder job) {
    auto constraint = job.initConstraints(1)[0];
    constraint.setLTarget("${attr.unique.hostname}");
    constraint.setRTarget("here");
    constraint.setOperand("=");
  });
  const auto tied = plan(bound, {{Kind::add, full, 2}}, true);
  REQUIRE(tied.has_value());
  for (const auto& [group, nodes] : tied->placed)
    for (const auto& [node, count] : nodes)
      CHECK(node == full);
}

TEST_CASE_FIXTURE(WhatIf, "what if: other jobs take their part of what is left first") {
  const auto first = add_node();
  process(register_job(other("other", 50, 6)));
  add_node();
  process(register_job(make_job(1)));
  start_all("other");
  start_all("web");

  // Six of the other job leave the first node, and then there is room for two more beside them.
  const auto run = plan(make_job(8), {{Kind::remove, first}}, true);

  REQUIRE(run.has_value());
  REQUIRE(run->others);
  CHECK(run->others->scheduled == 1);
  CHECK(run->others->without_room == 0);
  CHECK(placed(*run, first) == 0);
  REQUIRE(run->failed_groups.size() == 1);
}

TEST_CASE_FIXTURE(WhatIf, "what if: what was dispatched leaves with its node, as other jobs do") {
  const auto first = add_node();
  process(register_job(make_job(6, [](schema::Job::Builder job) {
    job.setId("sum/dispatch-1");
    job.setName("sum/dispatch-1");
    job.setParentId("sum");
    job.setDispatched(true);
    job.initParameterizedJob();
  })));
  start_all("sum/dispatch-1");
  add_node();

  const auto run = plan(make_job(8), {{Kind::remove, first}}, true);

  REQUIRE(run.has_value());
  CHECK(run->others->scheduled == 1);
  CHECK(placed(*run) == 2);
}

TEST_CASE_FIXTURE(WhatIf, "what if: jobs that want too much together are left out, and counted") {
  const auto first = add_node();
  process(register_job(other("huge", 50, most_other_allocs + 1)));
  start_all("huge");
  add_node();

  const auto run = plan(make_job(1), {{Kind::remove, first}}, true);

  REQUIRE(run.has_value());
  CHECK(run->others->scheduled == 0);
  CHECK(run->others->left_out == 1);
}

TEST_CASE_FIXTURE(WhatIf, "what if: a job that waits takes a node that is added") {
  const auto full = add_node();
  process(register_job(other("waits", 80, 12)));
  start_all("waits");

  const auto run = plan(make_job(6), {{Kind::add, full, 1}}, true);

  REQUIRE(run.has_value());
  CHECK(run->others->scheduled == 1);
  CHECK(placed(*run) == 4);  // of eight places that are added four are the other's
  REQUIRE(run->failed_groups.size() == 1);
}

TEST_CASE_FIXTURE(WhatIf, "what if: nodes that are not known, and too many") {
  const auto node = add_node();
  CHECK(plan(make_job(1), {{Kind::drain, "nobody"}}, true).error().code == Errc::not_found);
  CHECK(plan(make_job(1), {{Kind::add, node, 0}}, true).error().code == Errc::invalid_argument);
  CHECK(plan(make_job(1), {{Kind::add, node, most_added_nodes}, {Kind::add, node, 1}}, true)
            .error()
            .what
        == "from 1 to 1000 nodes can be added in all, not 1001");
  CHECK_FALSE(plan(make_job(1), {}, true)->others);
}
