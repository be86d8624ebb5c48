// Volumes of the host: where a task finds them.
#include <filesystem>

#include "actors/client/hooks/function_hooks.hpp"
#include "test/unit/actors/client/client_fixture.hpp"
#include "test/unit/actors/client/hooks/hook_environments.hpp"
#include "test/unit/runtime/host/temp_dir.hpp"

using namespace nomad;
using namespace nomad::test;
using schema::plugin::Phase;

namespace {

struct VolumesFixture : ActorFixture {
  Draft<schema::Job> job{make_job({})};
  Draft<schema::plugin::HookTarget> target;
  client::BlockingPool steps = adopt(client::spawn_inline_blocking_pool(system()));

  VolumesFixture() {
    target->setTask("web");
    target->getDriver().setMounts(true);
    auto volumes = target->initHostVolumes(2);
    for (unsigned i = 0; i < 2; ++i) {
      volumes[i].setKey(i == 0 ? "data" : "data[3]");
      volumes[i].initValue().setPath(i == 0 ? "/usr" : "/etc");
    }
    auto group = job->getTaskGroups()[0];
    auto volume = group.initVolumes(1)[0];
    volume.setKey("disk");
    volume.initValue().setType("host");
    volume.getValue().setSource("data");
    auto mount = group.getTasks()[0].initVolumeMounts(1)[0];
    mount.setVolume("disk");
    mount.setDestination("/mnt/${NOMAD_TASK_NAME}");
    mount.setPropagationMode("private");
  }

  schema::VolumeRequest::Builder volume() {
    return job->getTaskGroups()[0].getVolumes()[0].getValue();
  }

  client::HookScope scope() {
    const auto now = job.freeze();
    return {.alloc = make_alloc(now, 3), .job = now, .target = target.freeze()};
  }

  Result<Object<schema::plugin::HookAnswer>> ask_hook() {
    const auto about = scope();
    const auto hook = adopt(client::volumes_hook(steps).spawn(system(), {}, about));
    Draft<schema::plugin::HookRequest> request;
    request->setPhase(Phase::PRESTART);
    const auto answer = ask<client::hook::Answered>(
        hook, client::hook::Run{request.freeze(), about.alloc, about.job,
                                environments_of({{"NOMAD_TASK_NAME", "web"}})});
    REQUIRE(answer->has_value());
    if (!**answer) return (*answer)->error();
    return (**answer)->answer;
  }

  schema::plugin::Mount::Reader mount() {
    answer_ = *ask_hook();
    REQUIRE(answer_->getMounts().size() == 1);
    return answer_->getMounts()[0];
  }

private:
  Object<schema::plugin::HookAnswer> answer_;
};

}  // namespace

TEST_CASE_FIXTURE(VolumesFixture,
                  "volumes: the node says where a volume is, the task where it wants it") {
  const auto found = mount();
  CHECK(view(found.getHostPath()) == "/usr");
  CHECK(view(found.getTaskPath()) == "/mnt/web");
  CHECK(view(found.getPropagation()) == "private");
  CHECK_FALSE(found.getReadOnly());
}

TEST_CASE_FIXTURE(VolumesFixture, "volumes: read-only if the node, the group or the task says so") {
  target->getHostVolumes()[0].getValue().setReadOnly(true);
  CHECK(mount().getReadOnly());
  target->getHostVolumes()[0].getValue().setReadOnly(false);
  volume().setReadOnly(true);
  CHECK(mount().getReadOnly());
  volume().setReadOnly(false);
  job->getTaskGroups()[0].getTasks()[0].getVolumeMounts()[0].setReadOnly(true);
  CHECK(mount().getReadOnly());
}

TEST_CASE_FIXTURE(VolumesFixture, "volumes: each allocation has its own with per_alloc") {
  volume().setPerAlloc(true);
  CHECK(view(mount().getHostPath()) == "/etc");
}

TEST_CASE_FIXTURE(
    VolumesFixture,
    "volumes: one that the node does not have, or the driver can't show, is refused") {
  volume().setSource("gone");
  CHECK(
      ask_hook().error().what
      == "host volume validation error: missing gone; give this client a host_volume of that name");
  target->getDriver().setMounts(false);
  CHECK(ask_hook().error().what
        == R"(task driver "mock_driver" for "web" does not support host volumes)");
}

TEST_CASE_FIXTURE(VolumesFixture,
                  "volumes: one whose path is not there says which, and what to do") {
  auto data = target->getHostVolumes()[0].getValue();
  data.setName("data");
  data.setPath("/no such folder");
  CHECK(ask_hook().error().what
        == "host volume \"data\": \"/no such folder\" on this client: No such file or directory; "
           "create or mount it");
}

TEST_CASE_FIXTURE(VolumesFixture,
                  "volumes: one whose path this agent can't look at is left to who mounts it") {
  const host::TempDir loop;
  std::filesystem::create_symlink(loop / "data", loop / "data");
  target->getHostVolumes()[0].getValue().setPath((loop / "data").c_str());
  CHECK(view(mount().getHostPath()) == loop / "data");
}

TEST_CASE_FIXTURE(VolumesFixture, "volumes: tasks without one do not wait for the hook") {
  const auto entry = client::volumes_hook({});
  CHECK(entry.wanted(scope()));
  volume().setType("csi");
  CHECK_FALSE(entry.wanted(scope()));
  job->getTaskGroups()[0].getTasks()[0].initVolumeMounts(0);
  CHECK_FALSE(entry.wanted(scope()));
}
