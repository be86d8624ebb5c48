// What plans change of allocations that are there already, and what is found by it afterwards.
#include "fixture.hpp"
#include "runtime/state/alloc_index.hpp"

using namespace nomad;
using namespace nomad::state;
using schema::ClientStatus;

namespace {

std::size_t of_deployment(const StateFixture& state, std::string_view id) {
  return state.now().allocs_by_deployment(id).size();
}

}  // namespace

TEST_CASE(
    "plans: an update in place overrules the client only with lost and unknown, until it ends") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{}});
  state.report("alloc", ClientStatus::RUNNING);
  const auto place_as = [&](ClientStatus status) {
    state.place({{}}, [status](auto plan) { plan.getPlaced()[0].setClientStatus(status); });
    return state.now().alloc("alloc")->alloc->client_status();
  };
  CHECK(place_as(ClientStatus::FAILED) == ClientStatus::RUNNING);
  CHECK(place_as(ClientStatus::UNKNOWN) == ClientStatus::UNKNOWN);
  CHECK(place_as(ClientStatus::PENDING) == ClientStatus::UNKNOWN);
  state.report("alloc", ClientStatus::COMPLETE);
  CHECK(place_as(ClientStatus::UNKNOWN) == ClientStatus::COMPLETE);
}

TEST_CASE(
    "plans: what was said of an allocation since its plan was made outlives an update in place") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{}});
  state.run([](auto command) {
    auto transition = command.initAllocTransition();
    auto entry = transition.initEntries(1)[0];
    entry.setAllocId("alloc");
    entry.initTransition().getMigrate().setValue(true);
  });
  state.run([](auto command) {
    auto report = command.initAllocClientUpdate().initAllocations(1)[0];
    report.setId("alloc");
    report.setClientStatus(ClientStatus::RUNNING);
    report.setReportNumber(7);
    report.initDeploymentStatus().getHealthy().setValue(true);
  });
  const auto row = [&] { return state.now().alloc("alloc")->alloc; };

  state.place({{}});
  CHECK(row()->wants_migration());
  CHECK(row()->report_number() == 7);
  CHECK(row()->health().value());

  // Of another deployment it is not known whether it is healthy.
  state.place({{.deployment = "next"}});
  CHECK(!row()->health().has_value());
  CHECK(row()->wants_migration());
}

TEST_CASE("plans: each allocation holds the version of the job that it names") {
  StateFixture state;
  state.register_job({}, {});
  const auto old_version = [](auto plan) { plan.getPlaced()[0].setJobVersion(0); };
  state.register_job({.groups = {{"api", 2}}});
  state.register_job({.id = "db"});
  state.run([](auto command) { command.initNamespaceUpsert().setName("other"); });
  state.register_job({.ns = "other"});
  state.place({{.id = "a"}, {.id = "b"}, {.id = "c", .job = "db"}, {.id = "d", .ns = "other"}},
              old_version);
  const auto version = [&](const char* id) { return state.now().alloc(id)->job; };
  CHECK(version("a")->getVersion() == 0);
  CHECK(version("b")->getVersion() == 1);
  CHECK(view(version("c")->getId()) == "db");
  CHECK(view(version("d")->getNamespace()) == "other");
}

TEST_CASE("plans: metrics of an evaluation's plans are numbered on") {
  StateFixture state;
  state.register_job({}, {});
  for (const auto* id : {"a", "b", "c"})
    state.place({{.id = id}});
  std::vector<std::uint32_t> numbers;
  for (const auto* id : {"a", "b", "c"})
    numbers.push_back(state.now().alloc(id)->alloc->metric_number());
  CHECK(numbers == std::vector<std::uint32_t>{0, 1, 2});
}

TEST_CASE("plans: what they change bears their time, if they have one") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{}}, [](auto plan) { plan.setModifyTime(1); });
  const auto time = [&] { return state.now().alloc("alloc")->alloc->modify_time(); };
  CHECK(time() == 1);
  state.stop("alloc");
  CHECK(time() == 1);
  state.run([](auto command) {
    auto plan = command.initPlanResults().initPlans(1)[0];
    plan.setModifyTime(2);
    plan.initStopped(1)[0].setId("alloc");
  });
  CHECK(time() == 2);
}

TEST_CASE("plans: an allocation that moves to another node takes its room there") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.node = "n1", .ports = {80}}});
  state.place({{.node = "n2", .ports = {80}}});
  CHECK(state.now().allocs_by_node("n1").empty());
  CHECK_FALSE(state.now().allocs_by_node("n2").empty());
  CHECK(state.now().usage("n1") == nullptr);
  REQUIRE(state.now().usage("n2") != nullptr);
  CHECK(state.now().usage("n2")->total().cpu_mhz == 100);
}

TEST_CASE("plans: an update in place that asks for other ports frees the old ones") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.ports = {80}}});
  state.place({{.ports = {81}}});
  CHECK_FALSE(state.now().usage("node")->port_taken("", 80));
  CHECK(state.now().usage("node")->port_taken("", 81));
}

TEST_CASE("plans: an allocation is found by its deployment, then by that which it joins") {
  StateFixture state;
  state.register_job({}, {});
  state.deploy("d", 1);
  state.place({{.deployment = "d"}});
  CHECK(of_deployment(state, "d") == 1);
  state.report("alloc", ClientStatus::RUNNING);
  CHECK(of_deployment(state, "d") == 1);
  CHECK(state.now().allocs_by_eval("eval").size() == 1);

  state.register_job({.groups = {{"api", 2}}});
  state.deploy("e", 1);
  state.place({{.deployment = "e"}});
  CHECK(of_deployment(state, "d") == 0);
  CHECK(of_deployment(state, "e") == 1);

  state.run([](auto command) { command.initReap().initAllocationIds(1).set(0, "alloc"); });
  CHECK(of_deployment(state, "e") == 0);
}

TEST_CASE("plans: a version is used by as many allocations as run it") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.id = "a"}, {.id = "b"}});
  const std::string old_version = retained_job_key(*state.now().alloc("a")->alloc);
  const auto uses = [&](const std::string& key) {
    const auto snapshot = state.now();
    const auto* count = snapshot.tables().version_uses.find(key);
    return count == nullptr ? 0 : *count;
  };
  CHECK(uses(old_version) == 2);
  state.register_job({.groups = {{"api", 2}}});
  state.place({{.id = "a"}});
  CHECK(uses(old_version) == 1);
  CHECK(uses(retained_job_key(*state.now().alloc("a")->alloc)) == 1);
  state.place({{.id = "b"}});
  CHECK(uses(old_version) == 0);
}

TEST_CASE("plans: an allocation keeps the key that signs its identities") {
  StateFixture state;
  state.register_job({}, {});
  const auto key_of = [&](const char* id) { return state.now().alloc(id)->alloc->identity_key(); };
  const auto signed_by = [](std::uint64_t key) {
    return [key](auto plan) {
      plan.setModifyTime(1'700'000'000'900'000'000);
      plan.setIdentityKey(key);
    };
  };
  state.place({{.id = "a"}});
  CHECK(key_of("a") == 0);
  CHECK(state.now().signs_identities(0));

  state.place({{.id = "a"}, {.id = "b"}}, signed_by(7));
  CHECK(key_of("a") == 7);
  CHECK(state.now().alloc("b")->alloc->identity_time() == 1'700'000'000);
  CHECK_FALSE(state.now().signs_identities(0));
  state.place({{.id = "a"}}, signed_by(9));
  CHECK(key_of("a") == 7);

  state.report("a", ClientStatus::COMPLETE);
  CHECK(state.now().signs_identities(7));
  state.report("b", ClientStatus::FAILED);
  CHECK_FALSE(state.now().signs_identities(7));
}

TEST_CASE("plans: once a key has gone by force, any other may have signed what it signed") {
  StateFixture state;
  state.register_job({}, {});
  std::uint64_t created = 0;
  for (const auto* const id : {"k1", "k2", "k3"}) {
    const auto outcome = state.run([id](auto command) {
      auto key = command.initRootKeyUpsert().initKey();
      key.setKeyId(id);
      key.setState(schema::RootKeyState::ACTIVE);
    });
    REQUIRE_FALSE(outcome.error);
    if (created == 0) created = state.now().root_key(id)->getCreateIndex();
  }
  state.place({{.id = "a"}}, [created](auto plan) { plan.setIdentityKey(created); });
  CHECK_FALSE(state.now().has_identities_of_lost_keys());

  state.run([](auto command) { command.setRootKeyForcedDelete("k1"); });

  CHECK(state.now().has_identities_of_lost_keys());
  const auto remove = [&] { return state.run([](auto it) { it.setRootKeyDelete("k2"); }).error; };
  const auto refused = remove();
  REQUIRE(refused);
  CHECK(refused->what
        == "root key in use, cannot delete: it may sign, in place of a key that has gone, for 1 "
           "allocation; rotate with -full seals anew what it has sealed, and -force removes it with "
           "all of that");
  state.report("a", ClientStatus::COMPLETE);
  CHECK_FALSE(state.now().has_identities_of_lost_keys());
  CHECK_FALSE(remove());
}

TEST_CASE("plans: a job counts its allocations, and those that have not ended") {
  StateFixture state;
  state.register_job({}, {});
  state.place({{.id = "a"}, {.id = "b"}, {.id = "c"}});
  state.report("b", ClientStatus::COMPLETE);
  const auto snapshot = state.now();
  const auto* counts = snapshot.tables().job_counts.find(std::string{"default\0web", 11});
  REQUIRE(counts != nullptr);
  CHECK(counts->allocs == 3);
  CHECK(counts->live_allocs == 2);
}

TEST_CASE("Store: a single letter is an id like any other") {
  StateFixture state;
  state.run([](auto command) { command.initNamespaceUpsert().setName("n"); });
  CHECK_FALSE(state.register_node({.id = "m"}).error);
  CHECK(state.now().node("m"));
  state.register_job({.id = "w", .ns = "n"}, {.id = "e", .job = "w", .ns = "n"});
  REQUIRE(state.now().job("n", "w"));
  REQUIRE(state.now().eval("e"));
  CHECK(view(state.now().eval("e")->getNamespace()) == "n");
  state.place({{.id = "o", .job = "w", .ns = "n", .eval = "e"},
               {.id = "p", .job = "w", .ns = "n", .eval = "e", .previous = "o"}});
  CHECK(state.now().alloc("o")->alloc->next() == "p");
  CHECK(state.now().eval("e")->getModifyIndex() == state.index);
  state.run([](auto command) {
    auto plan = command.initPlanResults().initPlans(1)[0];
    auto stopped = plan.initStopped(1)[0];
    stopped.setId("o");
    stopped.setFollowupEvalId("f");
    auto preempted = plan.initPreempted(1)[0];
    preempted.setId("p");
    preempted.setPreemptedByAllocation("o");
  });
  CHECK(state.now().alloc("o")->alloc->followup_eval_id() == "f");
  CHECK(state.now().alloc("p")->alloc->preempted_by() == "o");
}

TEST_CASE("Store: what names no namespace is of the default one") {
  StateFixture state;
  state.register_job({.ns = ""}, {.ns = ""});
  REQUIRE(state.now().job("default", "web"));
  CHECK(view(state.now().job("default", "web")->getNamespace()) == "default");
  REQUIRE(state.now().eval("eval"));
  CHECK(view(state.now().eval("eval")->getNamespace()) == "default");
}

TEST_CASE("Store: an evaluation that is removed is not counted for its job any more") {
  StateFixture state;
  state.register_job({}, {});
  state.put_eval({.id = "other"});
  const auto live = [&] {
    const auto snapshot = state.now();
    const auto* counts = snapshot.tables().job_counts.find(std::string{"default\0web", 11});
    return counts == nullptr ? 0u : counts->live_evals;
  };
  CHECK(live() == 2);
  state.put_eval({.id = "eval", .status = schema::EvalStatus::COMPLETE});
  CHECK(live() == 1);
  state.run([](auto command) { command.initReap().initEvaluationIds(1).set(0, "eval"); });
  CHECK(live() == 1);
  state.run([](auto command) { command.initReap().initEvaluationIds(1).set(0, "other"); });
  CHECK(live() == 0);
}

TEST_CASE("Store: deleting services tells when none of them was there") {
  StateFixture state;
  state.register_node();
  const auto register_services = [&](std::initializer_list<const char*> ids) {
    state.run([&](auto command) {
      auto services = command.initServiceUpsert().initServices(static_cast<unsigned>(ids.size()));
      unsigned at = 0;
      for (const auto* id : ids) {
        services[at].setId(id);
        services[at].setNamespace("default");
        services[at].setServiceName("api");
        services[at++].setNodeId("m");
      }
    });
  };
  const auto remove = [&](std::initializer_list<const char*> ids, const char* node = "") {
    return static_cast<bool>(state
                                 .run([&](auto command) {
                                   auto body = command.initServiceDelete();
                                   body.setNodeId(node);
                                   auto keys = body.initKeys(static_cast<unsigned>(ids.size()));
                                   unsigned at = 0;
                                   for (const auto* id : ids) {
                                     keys[at].setNamespace("default");
                                     keys[at++].setId(id);
                                   }
                                 })
                                 .error);
  };
  register_services({"a", "b", "c"});
  CHECK_FALSE(remove({}));
  CHECK_FALSE(remove({"a", "gone"}));
  CHECK_FALSE(remove({"b"}));
  CHECK(remove({"a"}));
  CHECK_FALSE(remove({}, "m"));
  CHECK(state.now().tables().services.empty());
}
