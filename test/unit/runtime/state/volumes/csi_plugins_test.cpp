// Plugins as nodes, jobs and volumes name them.
#include "runtime/state/volumes/csi_plugins.hpp"

#include "volume_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

std::string plugins_in(const state::Snapshot& snapshot) {
  std::string all;
  for (const auto& id : snapshot.csi_plugins())
    all += (all.empty() ? "" : ",") + id;
  return all;
}

}  // namespace

TEST_CASE_FIXTURE(VolumeState, "csi plugins: one is there as long as somebody names it") {
  CHECK_FALSE(state::find_csi_plugin(now(), "p"));
  add_plugin();
  register_volume({.plugin = "q"});
  run([](auto command) {
    auto job = command.initJobRegister().initJob();
    state::fill(job, state::JobSpec{.id = "plugins", .groups = {{"nodes", 3}}});
    auto task = job.getTaskGroups()[0].initTasks(1)[0];
    task.initCsiPluginConfig().setId("r");
    task.getCsiPluginConfig().setType("monolith");
  });
  CHECK(plugins_in(now()) == "p,q,r");
  const auto expected = state::find_csi_plugin(now(), "r");
  CHECK(expected->controllers_expected == 3);
  CHECK(expected->nodes_expected == 3);

  deregister("plugins", true);
  run([](auto command) { command.initNodeDeregister().initNodeIds(1).set(0, "node"); });
  CHECK(plugins_in(now()) == "q");
}

TEST_CASE_FIXTURE(VolumeState, "csi plugins: health is that of the nodes which are not down") {
  add_plugin({.id = "one", .has_controller = true});
  add_plugin({.id = "two", .node_healthy = false});
  const auto plugin = state::find_csi_plugin(now(), "p");
  CHECK(plugin->provider == "org.example.disks");
  CHECK(plugin->version == "1.2");
  CHECK(plugin->controller_required);
  CHECK(plugin->controllers_healthy == 1);
  CHECK(plugin->nodes_healthy == 1);
  CHECK(plugin->nodes.size() == 2);
  CHECK(state::is_schedulable(*volume_of({}), &*plugin));

  run([](auto command) {
    auto update = command.initNodeStatusUpdate();
    update.setNodeId("one");
    update.setStatus(schema::NodeStatus::DOWN);
  });
  const auto left = state::find_csi_plugin(now(), "p");
  CHECK(left->controllers.empty());
  CHECK(left->nodes_healthy == 0);
  CHECK_FALSE(state::is_schedulable(*volume_of({}), &*left));
}

TEST_CASE("csi plugins: what a volume said of controllers counts when none is there") {
  const auto volume = volume_of({.controller_required = true});
  CHECK(state::needs_controller(*volume, nullptr));
  CHECK(state::is_attached(*volume, nullptr));
  CHECK_FALSE(state::is_schedulable(*volume, nullptr));
  CHECK_FALSE(state::is_attached(*volume_of({}), nullptr));
}

TEST_CASE_FIXTURE(VolumeState,
                  "csi plugins: their index moves by what they are derived from alone") {
  add_plugin();
  const auto before = now().index(state::Table::csi_plugins);
  register_job();
  register_node({.id = "without"});
  CHECK(now().index(state::Table::csi_plugins) == before);
  add_plugin({.node_healthy = false});
  CHECK(now().index(state::Table::csi_plugins) == index);
}
