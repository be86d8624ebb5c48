// What is derived of volumes and of those who name plugins.
#include "runtime/state/kinds/csi_kinds.hpp"

#include "test/unit/runtime/state/fixture.hpp"

using namespace nomad;
using namespace nomad::state;

TEST_CASE_FIXTURE(StateFixture,
                  "csi kinds: nodes and jobs are listed for the plugins that they name") {
  const auto node = [&](const char* plugin) {
    return run([&](auto command) {
      auto body = command.initNodeRegister().initNode();
      state::fill(body, NodeSpec{});
      if (plugin != nullptr) body.initCsiNodePlugins(1)[0].setKey(plugin);
    });
  };
  node("p");
  CHECK(now().nodes_of_csi_plugin("p").size() == 1);
  node("q");
  CHECK(now().nodes_of_csi_plugin("p").empty());
  CHECK(now().nodes_of_csi_plugin("q").size() == 1);
  node(nullptr);
  CHECK(now().csi_plugins().empty());

  run([](auto command) {
    auto job = command.initJobRegister().initJob();
    state::fill(job, JobSpec{});
    job.getTaskGroups()[0].initTasks(1)[0].initCsiPluginConfig().setId("p");
  });
  CHECK(now().jobs_of_csi_plugin("p").size() == 1);
  deregister("web", true);
  CHECK(now().csi_plugins().empty());
}

TEST_CASE_FIXTURE(StateFixture, "csi kinds: a root key that sealed a volume's secrets is in use") {
  run([](auto command) { command.initRootKeyUpsert().initKey().setKeyId("k"); });
  run([](auto command) {
    auto volume = command.initCsiVolumeRegister().initVolume();
    volume.setId("data");
    volume.setNamespace("default");
    volume.setKeyId("k");
  });
  CHECK(now().root_key_in_use("k"));
  run([](auto command) {
    auto body = command.initCsiVolumeDeregister();
    body.setNamespace("default");
    body.setId("data");
  });
  CHECK_FALSE(now().root_key_in_use("k"));
}
