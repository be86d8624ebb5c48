// What hooks of CSI say to tasks and groups; what is mounted is the volume manager's.
#include "actors/client/hooks/csi_hooks.hpp"

#include <fstream>

#include "test/unit/actors/client/client_fixture.hpp"
#include "test/unit/actors/client/hooks/hook_environments.hpp"
#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::plugin::Phase;

namespace {

struct CsiHooksFixture : ActorFixture {
  Draft<schema::Job> job{make_job({})};
  Draft<schema::plugin::HookTarget> target;
  client::BlockingPool steps = adopt(client::spawn_inline_blocking_pool(system()));
  std::string mounts;  ///< What the resource is.

  CsiHooksFixture() {
    target->setTask("web");
    target->setAllocId("alloc");
    target->getDriver().setMounts(true);
    target->getDriver().setFsIsolation("chroot");
    auto group = job->getTaskGroups()[0];
    auto volume = group.initVolumes(1)[0];
    volume.setKey("disk");
    volume.initValue().setType("csi");
    volume.getValue().setSource("data");
    auto mount = group.getTasks()[0].initVolumeMounts(1)[0];
    mount.setVolume("disk");
    mount.setDestination("/mnt");
  }

  void make_plugin() {
    auto config = job->getTaskGroups()[0].getTasks()[0].initCsiPluginConfig();
    config.setId("p");
    config.setType("node");
    config.setMountDir("/csi");
    config.setStagePublishBaseDir("/local/csi");
  }

  Result<Object<schema::plugin::HookAnswer>> run(const client::HookEntry& entry, Phase phase) {
    using Agent = client::PluginAgent;
    const auto agent = adopt(actor::spawn(system(), [this](Agent::pointer) -> Agent::behavior_type {
      return {[](const client::plugin_agent::Notice&) {},
              [this](const client::plugin_agent::Ask&) {
                Draft<schema::plugin::AgentAnswer> answer;
                answer->initResource().setValue(
                    {reinterpret_cast<const capnp::byte*>(mounts.data()), mounts.size()});
                return client::plugin_agent::Answered{answer.freeze()};
              }};
    }));
    const auto now = job.freeze();
    const client::HookScope scope{
        .alloc = make_alloc(now, 3), .job = now, .target = target.freeze()};
    CHECK(entry.wanted(scope));
    const auto hook = adopt(entry.spawn(system(), agent, scope));
    Draft<schema::plugin::HookRequest> request;
    request->setPhase(phase);
    const auto answer = ask<client::hook::Answered>(
        hook, client::hook::Run{request.freeze(), scope.alloc, scope.job, environments_of({})});
    REQUIRE(answer->has_value());
    if (!**answer) return (*answer)->error();
    return (**answer)->answer;
  }
};

}  // namespace

TEST_CASE_FIXTURE(CsiHooksFixture, "csi hooks: a task sees a volume where it was mounted") {
  mounts = std::string{"disk"} + '\0' + "/host/path" + '\0';
  const auto answer = run(client::csi_volumes_hook(), Phase::PRESTART).value();
  CHECK(view(answer->getMounts()[0].getHostPath()) == "/host/path");
  CHECK(view(answer->getMounts()[0].getTaskPath()) == "/mnt");

  mounts.clear();
  CHECK(run(client::csi_volumes_hook(), Phase::PRESTART).error().what
        == "no CSI mount point found for volume: disk");
}

TEST_CASE_FIXTURE(CsiHooksFixture,
                  "csi hooks: drivers without mounts are refused before anything is claimed") {
  target->getDriver().setMounts(false);
  CHECK(run(client::csi_volumes_hook(), Phase::PRESTART).error().what
        == "task driver \"mock_driver\" for \"web\" does not support CSI");
  CHECK(
      run(client::csi_hook({.volumes = {}, .root = "", .steps = steps}), Phase::PRERUN).error().what
      == "no task supports CSI");
}

TEST_CASE_FIXTURE(CsiHooksFixture,
                  "csi hooks: a plugin whose directories can't be made does not start") {
  const TempDir dir;
  std::ofstream{dir.path() + "/file"} << "x";
  make_plugin();
  const auto failed
      = run(client::csi_plugin_hook({.volumes = {}, .root = dir.path() + "/file", .steps = steps}),
            Phase::PRESTART);
  CHECK(failed.error().what.starts_with("making directories of the CSI plugin: "));
}
