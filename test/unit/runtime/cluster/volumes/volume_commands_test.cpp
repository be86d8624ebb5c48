// What is decided about volumes before it goes into the log.
#include "runtime/cluster/volumes/volume_commands.hpp"

#include "test/unit/runtime/state/volumes/volume_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using cluster::volume_mistakes;

namespace {

const auto manager = access::Asking::of_cluster("test");

/// A changed copy.
template <class Change>
Object<schema::CsiVolume> changed(const Object<schema::CsiVolume>& volume, Change change) {
  Draft<schema::CsiVolume> draft{volume};
  change(*draft);
  return draft.freeze();
}

std::string mistakes_of(const Object<schema::CsiVolume>& volume) {
  return cluster::mistakes_text(volume_mistakes(*volume));
}

}  // namespace

TEST_CASE("volume commands: all mistakes come in one answer") {
  Draft<schema::CsiVolume> empty;
  CHECK(mistakes_of(empty.freeze())
        == "validation: missing volume id, missing plugin id, must include at least one capability "
           "block");
  CHECK(volume_mistakes(*volume_of({})).empty());
  const auto two = changed(volume_of({}), [](auto volume) {
    volume.setSnapshotId("s");
    volume.setCloneId("c");
    volume.initRequestedTopologies().initRequired(1);
    volume.setRequestedCapacityMin(5);
    volume.setRequestedCapacityMax(4);
  });
  CHECK(mistakes_of(two)
        == "validation: only one of snapshot_id and clone_id is allowed, required topology is "
           "missing segments field, max requested capacity (4 bytes) less than or equal to min (5 "
           "bytes)");
  for (const auto& id :
       std::vector<std::string>{"../up", ".hidden", "a/b", "a\nb", std::string(10'000, 'x')})
    CHECK(volume_mistakes(*volume_of({.id = id})).size() == 1);
  CHECK(volume_mistakes(*volume_of({.id = "../up"})).front()
        == "volume id must have at most 256 bytes, no slash or control character, and not begin "
           "with a dot");
  const auto odd = changed(volume_of({}), [](auto volume) {
    volume.initRequestedCapabilities(1);
    volume.initRequestedTopologies().initPreferred(1);
    volume.setRequestedCapacityMin(-1);
  });
  CHECK(volume_mistakes(*odd)
        == std::vector<std::string>{"capability block is missing an access mode",
                                    "capability block is missing an attachment mode",
                                    "preferred topology is missing segments field",
                                    "requested capacities can't be negative"});
  CHECK(volume_mistakes(*volume_of({.id = "data[0]"})).empty());
}

TEST_CASE("volume commands: an update changes what may be changed") {
  const auto stored = changed(volume_of({}), [](auto volume) {
    volume.setName("disk");
    volume.setExternalId("vol-1");
    volume.initContext(1)[0].setKey("made-by");
  });
  const auto merged = cluster::merge_volume(stored, volume_of({}));
  REQUIRE(merged.has_value());
  CHECK((*merged)->getContext().size() == 1);
  CHECK(view((*merged)->getExternalId()) == "vol-1");

  const auto wrong = cluster::merge_volume(stored, changed(volume_of({}), [](auto volume) {
                                             volume.setName("other");
                                             volume.setPluginId("q");
                                           }));
  CHECK(wrong.error().code == Errc::invalid_argument);
  CHECK(wrong.error().what
        == "unable to update volume: 2 errors occurred:\n\t* volume name cannot be updated\n\t* "
           "volume plugin ID cannot be updated\n\n");
}

TEST_CASE(
    "volume commands: of one in use neither the mode of its use nor its mount options change") {
  const auto used = changed(volume_of({}), [](auto volume) {
    volume.setAccessMode(schema::CsiAccessMode::SINGLE_NODE_WRITER);
    volume.setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
    volume.initClaims(1)[0].setAllocId("alloc");
  });
  CHECK(cluster::merge_volume(used, volume_of({})).has_value());
  CHECK(cluster::merge_volume(used,
                              volume_of({.access = schema::CsiAccessMode::MULTI_NODE_MULTI_WRITER}))
            .error()
            .what.find("volume requested capabilities update was not compatible with existing "
                       "capability in use")
        != std::string::npos);
  CHECK(cluster::merge_volume(
            used,
            changed(volume_of({}), [](auto volume) { volume.initMountOptions().setFsType("xfs"); }))
            .error()
            .what.find("can not update mount options while volume is in use")
        != std::string::npos);
  CHECK(cluster::merge_volume(used, changed(volume_of({}),
                                            [](auto volume) {
                                              volume.initMountOptions();  // as none
                                            }))
            .has_value());
}

TEST_CASE_FIXTURE(VolumeState,
                  "volume commands: a volume's plugin must be one that somebody names") {
  const auto unknown = cluster::decide_register_volume(now(), manager, volume_of({}));
  CHECK(unknown.error().what == "no CSI plugin named: p could be found");
  add_plugin({.has_controller = true});
  const auto decision = cluster::decide_register_volume(now(), manager, volume_of({}));
  REQUIRE(decision.has_value());
  CHECK(decision->command->getCsiVolumeRegister().getVolume().getControllerRequired());
}

TEST_CASE_FIXTURE(VolumeState, "volume commands: detaching begins with those that have ended") {
  register_node();
  register_job();
  place({{.id = "alloc"}});
  register_volume();
  REQUIRE_FALSE(claim().error);
  const auto detach = [&](std::string_view node) {
    return cluster::decide_detach_volume(now(), manager, "default", "data", node);
  };
  CHECK(detach("node").error().what == "volume in use: data: by allocations that run on the node");
  CHECK_FALSE(detach("other")->command);
  report("alloc", schema::ClientStatus::COMPLETE);
  const auto decision = detach("node");
  REQUIRE(decision->command);
  CHECK(decision->command->getCsiClaimUpdate().getEntries()[0].getClaim().getState()
        == schema::CsiClaimState::UNPUBLISHING);
  CHECK(cluster::decide_detach_volume(now(), manager, "default", "x", "node").error().code
        == Errc::not_found);
}
