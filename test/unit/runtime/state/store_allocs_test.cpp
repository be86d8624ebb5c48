// Allocations: plans, client updates, transitions, usage of nodes.
#include "fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;
using schema::DesiredStatus;

namespace {

template <class Range>
std::string ids(const Range& range) {
  std::string joined;
  for (const auto& entry : range)
    joined += std::string{entry.value()->alloc->id()} + " ";
  return joined;
}

}  // namespace

TEST_CASE("Store: a plan places allocations that share their job and metrics") {
  StateFixture state;
  state.register_job({}, {});
  const Index before = state.index;

  const Outcome outcome = state.place({{.id = "b", .node = "n1"}, {.id = "a", .node = "n2"}});

  REQUIRE(outcome.plans.size() == 1);
  CHECK_FALSE(outcome.plans[0]);
  const Snapshot now = state.now();
  const AllocRef a = now.alloc("a");
  const AllocRef b = now.alloc("b");
  CHECK(a->alloc->create_index() == state.index);
  CHECK(a->alloc->alloc_modify_index() == state.index);
  CHECK(a->alloc->create_time() == 1000);
  CHECK(a->job.is_same(b->job));
  CHECK(a->metric.is_same(b->metric));
  CHECK(a->metric->getNodesEvaluated() == 7);
  CHECK(ids(now.allocs_by_node("n1")) == "b ");
  CHECK(ids(now.allocs_by_job("default", "web")) == "a b ");
  CHECK(now.allocs_by_eval("eval").size() == 2);
  CHECK(now.eval("eval")->getModifyIndex() == state.index);
  CHECK(now.eval("eval")->getCreateIndex() == before);
}

TEST_CASE("Store: metrics of two plans of one evaluation are kept apart, and go with their users") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.id = "a"}});
  state.place({{.id = "b"}}, [](auto plan) { plan.getMetrics()[0].setNodesEvaluated(9); });
  CHECK(state.now().alloc("a")->metric->getNodesEvaluated() == 7);
  CHECK(state.now().alloc("b")->metric->getNodesEvaluated() == 9);
  CHECK(state.now().tables().alloc_metrics.size() == 2);

  state.place({{.id = "a", .eval = "other"}, {.id = "b", .eval = "other"}});
  CHECK(state.now().tables().alloc_metrics.size() == 1);
  CHECK(state.now().alloc("b")->metric->getNodesEvaluated() == 7);
  state.place({{.id = "c", .eval = "other", .metric = 5}});
  CHECK_FALSE(state.now().alloc("c")->metric);
}

TEST_CASE("Store: a plan about unknown allocations or versions is refused as a whole") {
  StateFixture state;
  state.register_job({}, {});
  const auto refused = [&](const Outcome& outcome) {
    return outcome.plans[0] ? outcome.plans[0]->what : "accepted";
  };
  CHECK(refused(state.place({{.id = "a"}}, [](auto plan) { plan.initStopped(1)[0].setId("gone"); }))
        == "alloc \"gone\" doesn't exist");
  CHECK(refused(state.place({{.id = "a", .job = "never"}}))
        == "attempting to upsert allocation \"a\" without a job");
  state.register_job({.id = "db"});
  CHECK(refused(state.place({{.id = "a"}, {.id = "a", .job = "db"}}))
        == "allocation \"a\" belongs to another job");
  CHECK(state.now().tables().allocs.empty());
  CHECK(refused(state.place({{.id = "a"}})) == "accepted");
}

TEST_CASE("Store: an update in place keeps what the client said") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{}});
  const Index created = state.index;
  state.report("alloc", ClientStatus::RUNNING, [](auto alloc) {
    alloc.setClientDescription("Tasks are running");
    alloc.initTaskStates(1)[0].setKey("server");
    alloc.initNetworkStatus().setAddress("10.0.0.1");
  });
  CHECK(state.now().alloc("alloc")->alloc->alloc_modify_index() == created);
  state.register_job({.groups = {{"api", 2}}});

  state.place({{.eval = "second", .cpu = 500}});

  const AllocRef row = state.now().alloc("alloc");
  CHECK(row->alloc->client_status() == ClientStatus::RUNNING);
  CHECK(row->alloc->client_description() == "Tasks are running");
  CHECK(row->alloc->task_states().size() == 1);
  CHECK(view(row->alloc->network_status().getAddress()) == "10.0.0.1");
  CHECK(row->alloc->create_index() == created);
  CHECK(row->alloc->alloc_modify_index() == state.index);
  CHECK(row->job->getVersion() == 1);
  CHECK(state.now().usage("node")->total().cpu_mhz == 500);
  CHECK(state.now().allocs_by_eval("eval").empty());
  CHECK(state.now().allocs_by_eval("second").size() == 1);
}

TEST_CASE("Store: a lost allocation keeps what its client said last") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{}});
  state.report("alloc", ClientStatus::RUNNING,
               [](auto alloc) { alloc.setClientDescription("Tasks are running"); });

  state.stop("alloc", ClientStatus::LOST);

  const AllocRef row = state.now().alloc("alloc");
  CHECK(row->alloc->client_status() == ClientStatus::LOST);
  CHECK(row->alloc->client_description() == "Tasks are running");
}

TEST_CASE("Store: stops, evictions and losses") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.id = "a"}, {.id = "b"}, {.id = "c"}, {.id = "d"}});
  state.report("d", ClientStatus::COMPLETE);

  CHECK(state.stop("a").nodes_freed.empty());
  CHECK(state.stop("b", ClientStatus::LOST).nodes_freed == std::vector<std::string>{"node"});
  state.stop("d", ClientStatus::LOST);
  state.run([](auto command) {
    auto alloc = command.initPlanResults().initPlans(1)[0].initPreempted(1)[0];
    alloc.setId("c");
    alloc.setPreemptedByAllocation("winner");
  });

  const Snapshot now = state.now();
  CHECK(now.alloc("a")->alloc->desired_status() == DesiredStatus::STOP);
  CHECK(now.alloc("a")->alloc->desired_description() == "alloc not needed");
  CHECK(now.alloc("a")->server_terminal);
  CHECK_FALSE(now.alloc("a")->client_terminal);
  CHECK(now.alloc("b")->alloc->client_status() == ClientStatus::LOST);
  CHECK(now.alloc("b")->client_terminal);
  CHECK(now.alloc("c")->alloc->desired_status() == DesiredStatus::EVICT);
  CHECK(now.alloc("c")->alloc->desired_description() == "Preempted by alloc ID winner");
  CHECK(now.alloc("d")->alloc->client_status() == ClientStatus::COMPLETE);
  CHECK(now.usage("node")->allocations() == 2);  // a and c still run
}

TEST_CASE("Store: a replaced allocation learns of its successor") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.id = "old"}});
  const Index placed = state.index;
  state.place({{.id = "new", .previous = "old"}});
  CHECK(state.now().alloc("old")->alloc->next() == "new");
  CHECK(state.now().alloc("old")->alloc->modify_index() == state.index);
  CHECK(state.now().alloc("old")->alloc->alloc_modify_index() == placed);
}

TEST_CASE("Store: a successor stays known when the same plan writes the old row anew") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.id = "old"}});
  state.place({{.id = "new", .previous = "old"}, {.id = "old"}});
  CHECK(state.now().alloc("old")->alloc->next() == "new");
}

TEST_CASE("Store: usage of a node counts what has not ended") {
  StateFixture state;
  state.register_job({}, {});
  CHECK(state.now().usage("node") == nullptr);
  state.place({{.id = "a", .ports = {8080, 9090}}, {.id = "b", .cpu = 50, .ports = {80}}});
  const auto total = state.now().usage("node")->total();
  CHECK(total == Demand{.cpu_mhz = 150, .memory_mb = 512, .memory_max_mb = 512, .disk_mb = 600});
  CHECK(state.now().usage("node")->port_taken("", 8080));

  state.stop("a");
  state.place({{.id = "c", .ports = {8080}}});  // in the place of a, which is still stopping
  CHECK(state.now().usage("node")->ports("")->size() == 4);
  state.report("a", ClientStatus::COMPLETE);
  CHECK(state.now().usage("node")->port_taken("", 8080));
  CHECK_FALSE(state.now().usage("node")->port_taken("", 9090));
  state.report("c", ClientStatus::FAILED);
  CHECK_FALSE(state.now().usage("node")->port_taken("", 8080));
  CHECK(state.report("b", ClientStatus::FAILED).nodes_freed == std::vector<std::string>{"node"});
  CHECK(state.now().usage("node") == nullptr);
}

TEST_CASE("Store: transitions merge, and only say what they set") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{}});
  const auto ask = [&](const std::function<void(schema::DesiredTransition::Builder)>& set) {
    state.run([&](auto command) {
      auto body = command.initAllocTransition();
      auto entries = body.initEntries(2);
      entries[0].setAllocId("gone");
      entries[1].setAllocId("alloc");
      set(entries[1].getTransition());
      fill(body.initEvaluations(1)[0], EvalSpec{.id = "drain"});
    });
  };
  ask([](auto transition) { transition.getMigrate().setValue(true); });
  ask([](auto transition) { transition.getReschedule().setValue(false); });

  const auto transition = state.now().alloc("alloc")->alloc->transition();
  CHECK(transition.getMigrate().getValue());
  CHECK_FALSE(transition.getReschedule().getValue());
  CHECK(transition.getForceReschedule().isUnset());
  CHECK(state.now().alloc("alloc")->alloc->alloc_modify_index() == state.index);
  CHECK(state.now().eval("drain"));
}

TEST_CASE("Store: a late copy of a client's older report is passed over") {
  StateFixture store;
  store.register_job({}, {});
  store.place({{.id = "a", .node = "n1"}});
  const auto numbered = [](std::uint64_t number) {
    return [number](schema::Allocation::Builder report) { report.setReportNumber(number); };
  };
  const auto status = [&] { return store.now().alloc("a")->alloc->client_status(); };
  store.report("a", ClientStatus::COMPLETE, numbered(8));
  store.report("a", ClientStatus::RUNNING, numbered(7));
  store.report("a", ClientStatus::RUNNING, numbered(8));
  CHECK(status() == ClientStatus::COMPLETE);
  store.report("a", ClientStatus::FAILED, numbered(9));
  CHECK(status() == ClientStatus::FAILED);
  store.report("a", ClientStatus::LOST);  // A client that knows no numbers.
  CHECK(status() == ClientStatus::LOST);
  store.report("a", ClientStatus::RUNNING, numbered(9));
  CHECK(status() == ClientStatus::LOST);
}

TEST_CASE("Store: lists are in order of creation, ids find by prefix") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.id = "c1"}});
  state.place({{.id = "a2"}});
  state.place({{.id = "c3"}});
  state.report("c1", ClientStatus::RUNNING);
  const Snapshot now = state.now();
  CHECK(ids(now.allocs_by_create()) == "c1 a2 c3 ");
  CHECK(ids(now.allocs("c")) == "c1 c3 ");
  CHECK(now.allocs_by_create_map().last().value().is_same(now.alloc("c3")));
}

TEST_CASE("Store: a client's report leaves the indexes alone whose keys stay") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.id = "a", .node = "n1"}, {.id = "b", .node = "n1"}});
  const Snapshot before = state.now();
  state.report("a", ClientStatus::RUNNING);

  const Snapshot now = state.now();
  CHECK(now.tables().allocs_by_create.same_root(before.tables().allocs_by_create));
  CHECK(now.tables().allocs_by_node.same_root(before.tables().allocs_by_node));
  const auto listed = [](const Snapshot& taken) {
    return taken.allocs_by_node_map().lower_bound(join_key("n1", "")).value();
  };
  CHECK(listed(now)->alloc->client_status() == ClientStatus::RUNNING);
  CHECK(listed(before)->alloc->client_status() == ClientStatus::PENDING);
}

TEST_CASE("demand_of: the largest phase counts, sidecars always") {
  Draft<schema::AllocatedResources> draft;
  const std::vector<std::tuple<const char*, const char*, bool, int>> tasks{
      {"after", "poststop", false, 70},
      {"before", "prestart", false, 300},
      {"main", "", false, 200},
      {"proxy", "prestart", true, 10},
      {"second", "poststart", false, 50}};
  auto resources = draft->initTasks(5);
  auto lifecycles = draft->initTaskLifecycles(5);
  for (unsigned i = 0; i < 5; ++i) {
    const auto& [name, hook, sidecar, cpu] = tasks[i];
    resources[i].setKey(name);
    resources[i].initValue().initCpu().setCpuShares(cpu);
    resources[i].getValue().initMemory().setMemoryMb(cpu);
    lifecycles[i].setKey(name);
    lifecycles[i].initValue().setHook(hook);
    lifecycles[i].getValue().setSidecar(sidecar);
  }
  draft->initShared().setDiskMb(40);
  CHECK(demand_of(draft.reader())
        == Demand{.cpu_mhz = 310, .memory_mb = 310, .memory_max_mb = 310, .disk_mb = 40});
}
