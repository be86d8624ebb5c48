// The cluster's settings, namespaces and node pools as commands.
#include "runtime/cluster/setting_commands.hpp"

#include "runtime/object/entries.hpp"
#include "test/support/access_policy.hpp"
#include "test/support/anybody.hpp"
#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;

TEST_CASE("setting_commands: the scheduler's configuration is written unless another is stored") {
  state::StateFixture fixture;
  Draft<schema::SchedulerConfiguration> draft;
  draft->setSchedulerAlgorithm("spread");
  const auto wanted = draft.freeze();

  const auto first
      = cluster::decide_scheduler_configuration(fixture.now(), nomad::test::anybody(), wanted, {});
  REQUIRE(first.has_value());
  REQUIRE(first->command);
  const auto index
      = fixture
            .run([&](auto command) {
              command.setSchedulerConfiguration(first->command->getSchedulerConfiguration());
            })
            .index;
  CHECK(fixture.now().scheduler_configuration()->getModifyIndex() == index);

  CHECK(
      cluster::decide_scheduler_configuration(fixture.now(), nomad::test::anybody(), wanted, index)
          ->command);
  CHECK_FALSE(cluster::decide_scheduler_configuration(fixture.now(), nomad::test::anybody(), wanted,
                                                      index + 1)
                  ->command);

  const auto unsaid = cluster::decide_scheduler_configuration(
      fixture.now(), nomad::test::anybody(), Draft<schema::SchedulerConfiguration>{}.freeze(), {});
  CHECK(view(unsaid->command->getSchedulerConfiguration().getSchedulerAlgorithm()) == "binpack");
}

TEST_CASE("setting_commands: autopilot's settings say whether they are checked") {
  const auto settings = Draft<schema::AutopilotConfiguration>{}.freeze();

  const auto unchecked = cluster::decide_autopilot(nomad::test::anybody(), settings, {})->command;
  CHECK_FALSE(unchecked->getAutopilotUpdate().getCheck());
  const auto checked = cluster::decide_autopilot(nomad::test::anybody(), settings, 7)->command;
  CHECK(checked->getAutopilotUpdate().getCheck());
  CHECK(checked->getAutopilotUpdate().getConfiguration().getModifyIndex() == 7);
}

TEST_CASE("setting_commands: autopilot waits for no negative time") {
  Draft<schema::AutopilotConfiguration> settings;
  settings->setLastContactThreshold(-1);
  settings->setServerStabilizationTime(-1);

  const auto decision = cluster::decide_autopilot(nomad::test::anybody(), settings.freeze(), {});

  REQUIRE_FALSE(decision);
  CHECK(decision.error()
        == Error{Errc::invalid_argument,
                 "2 errors occurred:\n\t* LastContactThreshold can't be negative\n"
                 "\t* ServerStabilizationTime can't be negative\n\n"});
}

namespace {

std::string refusal(const Result<cluster::Decision>& decision) {
  return decision ? "" : decision.error().what;
}

Object<schema::Namespace> a_namespace(const std::string& name) {
  Draft<schema::Namespace> draft;
  draft->setName(name);
  return draft.freeze();
}

Object<schema::NodePool> a_pool(const std::string& name) {
  Draft<schema::NodePool> draft;
  draft->setName(name);
  return draft.freeze();
}

std::string put(const Object<schema::Namespace>& ns) {
  return refusal(
      cluster::decide_namespace(state::StateFixture{}.now(), nomad::test::anybody(), *ns));
}

std::string put(const Object<schema::NodePool>& pool) {
  return refusal(
      cluster::decide_node_pool(state::StateFixture{}.now(), nomad::test::anybody(), *pool));
}

}  // namespace

TEST_CASE("places: names and descriptions are bounded, with Nomad's texts") {
  CHECK(put(a_namespace("dev-1")).empty());
  CHECK(put(a_namespace("a b"))
        == "Invalid namespace \"a b\": 1 error occurred:\n\t* invalid name \"a b\". Must match "
           "regex ^[a-zA-Z0-9-]{1,128}$\n\n");
  CHECK_FALSE(put(a_namespace("a_b")).empty());
  CHECK_FALSE(put(a_namespace(std::string(129, 'a'))).empty());
  CHECK(put(a_namespace(std::string(128, 'a'))).empty());
  CHECK(put(a_pool("gpu_1")).empty());
  CHECK(put(a_pool("g p"))
        == "invalid node pool \"g p\": 1 error occurred:\n\t* invalid name \"g p\", must match "
           "regex ^[a-zA-Z0-9-_]{1,128}$\n\n");
  Draft<schema::NodePool> wordy{a_pool("gpu")};
  wordy->setDescription(std::string(257, 'x'));
  CHECK(put(wordy.freeze())
        == "invalid node pool \"gpu\": 1 error occurred:\n\t* description longer than 256\n\n");
}

TEST_CASE("places: the scheduler's algorithm of a pool is one that there is") {
  Draft<schema::NodePool> pool{a_pool("gpu")};
  for (const auto* known : {"", "binpack", "spread"}) {
    pool->initSchedulerConfiguration().setSchedulerAlgorithm(known);
    CHECK(put(pool.freeze()).empty());
  }
  pool->initSchedulerConfiguration().setSchedulerAlgorithm("luck");
  CHECK(put(pool.freeze()).find("invalid scheduler algorithm \"luck\"") != std::string::npos);
}

TEST_CASE("places: what is built in is not changed") {
  CHECK(put(a_pool("all")) == "modifying node pool \"all\" is not allowed");
  CHECK(put(a_pool("default")) == "modifying node pool \"default\" is not allowed");
  CHECK(put(a_namespace("default")).empty());
}

TEST_CASE("places: a namespace's rules about pools don't contradict themselves") {
  Draft<schema::Namespace> ns{a_namespace("dev")};
  auto rules = ns->initNodePoolConfiguration();
  rules.initAllowed(1).set(0, "gpu");
  rules.initDenied(1).set(0, "cpu");
  CHECK(put(ns.freeze()).find("can't be used together") != std::string::npos);
  rules = ns->initNodePoolConfiguration();
  rules.setDefault("gpu");
  rules.initDenied(1).set(0, "g*");
  CHECK(put(ns.freeze()).find("the default node pool \"gpu\" is among those that are denied")
        != std::string::npos);
}

TEST_CASE("places: a namespace's rules of pools fit together") {
  Draft<schema::Namespace> ns{a_namespace("dev")};
  auto rules = ns->initNodePoolConfiguration();
  rules.setDefault("prod-1");
  rules.initDenied(1).set(0, "prod*");
  CHECK(refusal(cluster::decide_namespace(state::StateFixture{}.now(), nomad::test::anybody(),
                                          *ns.freeze()))
        == "Invalid namespace \"dev\": 1 error occurred:\n\t* invalid node pool configuration: the default "
           "node pool \"prod-1\" is among those that are denied\n\n");
}

TEST_CASE("places: the hash follows from what users say") {
  const auto hash = [](const Object<schema::Namespace>& ns) {
    const auto decision
        = cluster::decide_namespace(state::StateFixture{}.now(), nomad::test::anybody(), *ns);
    const auto bytes = decision->command->getNamespaceUpsert().getHash();
    return std::string{bytes.begin(), bytes.end()};
  };
  Draft<schema::Namespace> other{a_namespace("dev")};
  other->setDescription("x");
  CHECK(hash(a_namespace("dev")).size() == 32);
  CHECK(hash(a_namespace("dev")) == hash(a_namespace("dev")));
  CHECK(hash(a_namespace("dev")) != hash(other.freeze()));
}

TEST_CASE_FIXTURE(state::StateFixture, "places: what has live jobs or nodes stays") {
  const auto delete_namespace = [this](std::string_view name) {
    return refusal(cluster::decide_namespace_delete(now(), nomad::test::anybody(), name, "global"));
  };
  const auto delete_pool = [this](std::string_view name) {
    return refusal(cluster::decide_node_pool_delete(now(), nomad::test::anybody(), name, "global"));
  };
  run([](auto command) { command.initNamespaceUpsert().setName("dev"); });
  run([](auto command) { command.initNodePoolUpsert().setName("gpu"); });
  CHECK(delete_namespace("default") == "can not delete default namespace");
  CHECK(delete_namespace("dev").empty());
  CHECK(delete_pool("gpu").empty());
  CHECK(delete_pool("") == "node pool name is empty");

  register_job({.ns = "dev", .pool = "gpu"}, {.ns = "dev"});
  register_node({.id = "n", .pool = "gpu"});

  CHECK(delete_namespace("dev")
        == "1 error occurred:\n\t* namespace \"dev\" has non-terminal jobs in regions: "
           "[global]\n\n");
  CHECK(delete_pool("gpu")
        == "2 errors occurred:\n\t* node pool \"gpu\" has non-terminal jobs in regions: "
           "[global]\n\t* node pool \"gpu\" has nodes in regions: [global]\n\n");
}

TEST_CASE("places: are for those who may manage the cluster") {
  using access::Capability;
  const auto asking = nomad::test::asking_with(nomad::test::nothing, Capability::management);
  const state::StateFixture state;
  CHECK_FALSE(cluster::decide_namespace(state.now(), asking, *a_namespace("dev")));
  CHECK_FALSE(cluster::decide_namespace_delete(state.now(), asking, "dev", "global"));
  CHECK_FALSE(cluster::decide_node_pool(state.now(), asking, *a_pool("gpu")));
  CHECK_FALSE(cluster::decide_node_pool_delete(state.now(), asking, "gpu", "global"));
}
