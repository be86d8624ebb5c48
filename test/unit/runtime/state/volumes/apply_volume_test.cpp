// Commands about volumes: what they change and what they refuse.
#include "runtime/state/snapshot.hpp"
#include "volume_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using State = schema::CsiClaimState;

namespace {

/// A volume, and allocations "alloc" and "second" on node "node".
struct InUse : VolumeState {
  InUse() {
    register_node();
    register_job();
    place({{.id = "alloc"}, {.id = "second"}});
    register_volume();
  }
};

}  // namespace

TEST_CASE_FIXTURE(VolumeState, "volume commands: an update keeps claims, context and topologies") {
  register_node();
  register_job();
  place({{.id = "alloc"}});
  run([&](auto command) {
    auto volume = command.initCsiVolumeRegister().initVolume();
    test::fill(volume, VolumeSpec{.controller_required = true});
    volume.initContext(1)[0].setKey("made-by");
    volume.initTopologies(1)[0].initSegments(1)[0].setKey("rack");
    volume.setCapacity(7);
  });
  REQUIRE_FALSE(claim().error);

  const auto outcome = register_volume();

  CHECK_FALSE(outcome.error);
  CHECK(outcome.volumes_opened == std::vector<std::string>{"default"});
  CHECK(volume()->getContext().size() == 1);
  CHECK(volume()->getTopologies().size() == 1);
  CHECK(volume()->getCapacity() == 7);
  CHECK(volume()->getControllerRequired());
  CHECK(volume()->getClaims().size() == 1);
  CHECK(volume()->getCreateIndex() < volume()->getModifyIndex());
}

TEST_CASE_FIXTURE(VolumeState,
                  "volume commands: a namespace must be there, and stays while it has volumes") {
  CHECK(register_volume({.ns = "nowhere"}).error->code == Errc::rejected);
  run([](auto command) { command.initNamespaceUpsert().setName("team"); });
  REQUIRE_FALSE(register_volume({.ns = "team"}).error);
  const auto refused = run([](auto command) { command.setNamespaceDelete("team"); });
  REQUIRE(refused.error);
  CHECK(
      refused.error->what.find("CSI volume. All CSI volumes in namespace must be deleted before it "
                               "can be deleted")
      != std::string::npos);
}

TEST_CASE_FIXTURE(InUse,
                  "volume commands: of two who may not both have it, the second is refused") {
  CHECK_FALSE(claim({.alloc = "alloc"}).error);
  const auto refused = claim({.alloc = "second"});
  CHECK(refused.error->code == Errc::conflict);
  CHECK(refused.error->what == "volume max claims reached");
  CHECK_FALSE(refused.volumes_changed);

  CHECK(claim({.alloc = "alloc", .state = State::NODE_DETACHED}).volumes_opened.empty());
  CHECK(claim({.alloc = "second"}).error->code == Errc::conflict);
  CHECK(claim({.alloc = "alloc", .state = State::CONTROLLER_DETACHED}).volumes_opened.size() == 1);
  CHECK_FALSE(claim({.alloc = "second"}).error);
  CHECK(now().claimed_csi_volumes().size() == 1);
}

TEST_CASE_FIXTURE(InUse, "volume commands: who has ended, or is elsewhere, claims nothing") {
  CHECK(claim({.alloc = "none"}).error->code == Errc::not_found);
  CHECK(claim({.node = "other"}).error->what
        == "allocation \"alloc\" is another node's, or of another namespace");
  CHECK(claim({}, "other").error->code == Errc::not_found);
  report("alloc", schema::ClientStatus::FAILED);
  CHECK(claim().error->code == Errc::rejected);
  CHECK_FALSE(claim({.state = State::UNPUBLISHING}, "other").error);  // passed over
}

TEST_CASE_FIXTURE(InUse,
                  "volume commands: one in use is not deregistered, by force once all have ended") {
  const auto deregister = [&](bool force) {
    return run([&](auto command) {
      auto body = command.initCsiVolumeDeregister();
      body.setNamespace("default");
      body.setId("data");
      body.setForce(force);
    });
  };
  REQUIRE_FALSE(claim().error);
  CHECK(deregister(false).error->what == "volume in use: data");
  CHECK(deregister(true).error->code == Errc::conflict);
  report("alloc", schema::ClientStatus::COMPLETE);
  CHECK(deregister(false).error->code == Errc::conflict);
  CHECK_FALSE(deregister(true).error);
  CHECK(deregister(true).error->code == Errc::not_found);
  CHECK_FALSE(volume());
}

TEST_CASE_FIXTURE(VolumeState, "volume commands: events show no flags of mount options") {
  run([&](auto command) {
    auto volume = command.initCsiVolumeRegister().initVolume();
    test::fill(volume, VolumeSpec{});
    volume.initMountOptions().initMountFlags(1).set(0, "password=x");
  });
  const auto shown = state::kind::CsiVolumes::shown(volume());
  CHECK(view(shown->getMountOptions().getMountFlags()[0]) == "[REDACTED]");
  CHECK(view(volume()->getMountOptions().getMountFlags()[0]) == "password=x");
}
