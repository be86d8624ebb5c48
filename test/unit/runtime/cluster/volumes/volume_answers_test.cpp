// Volumes and plugins as the API shows them.
#include "runtime/cluster/volumes/volume_answers.hpp"

#include "runtime/object/json_codec.hpp"
#include "test/unit/runtime/state/volumes/volume_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE_FIXTURE(VolumeState, "volume answers: secrets and flags are nobody's to read") {
  add_plugin();
  Draft<schema::CsiVolume> draft{volume_of({})};
  draft->initMountOptions().initMountFlags(1).set(0, "password=hidden");
  draft->initClaims(1)[0].setAllocId("alloc");
  draft->setKeyId("key");
  const unsigned char sealed[] = {1, 2, 3};
  draft->setSealed({sealed, 3});
  const auto plugin = state::find_csi_plugin(now(), "p");

  const auto shown = cluster::volume_answer(draft.freeze(), &*plugin, "[]");
  const auto json = to_json(shown);

  CHECK(json.find("hidden") == std::string::npos);
  CHECK(json.find(R"("MountFlags":["[REDACTED]"])") != std::string::npos);
  CHECK(json.find(R"("Secrets":null)") != std::string::npos);
  CHECK(json.find(R"("ReadAllocs":{"alloc":null})") != std::string::npos);
  CHECK(json.find(R"("WriteAllocs":{})") != std::string::npos);
  CHECK(json.find(R"("Allocations":[])") != std::string::npos);
  CHECK(shown->getSchedulable());
  CHECK(shown->getNodesHealthy() == 1);
  CHECK(view(shown->getProviderVersion()) == "1.2");
  CHECK_FALSE(shown->hasSealed());
}

TEST_CASE_FIXTURE(VolumeState,
                  "volume answers: stubs count, and without a plugin nothing is schedulable") {
  const auto stub = cluster::volume_stub(*volume_of({}), nullptr);
  CHECK_FALSE(stub->getSchedulable());
  add_plugin({.has_controller = true});
  const auto plugin = state::find_csi_plugin(now(), "p");
  CHECK(cluster::plugin_stub(*plugin)->getControllersHealthy() == 1);
  const auto whole = cluster::plugin_answer(*plugin, "[]");
  CHECK(whole->getControllers().size() == 1);
  CHECK(view(whole->getNodes()[0].getKey()) == "node");
}

TEST_CASE(
    "volume answers: a node gets flags, and a volume without another id is called by its own") {
  Draft<schema::CsiVolume> draft{volume_of({})};
  draft->initMountOptions().initMountFlags(1).set(0, "noatime");
  draft->initClaims(1);
  const auto row = draft.freeze();
  CHECK(cluster::volume_for_node(row)->getMountOptions().getMountFlags().size() == 1);
  CHECK_FALSE(cluster::volume_for_node(row)->hasClaims());
  CHECK(cluster::external_id(*row) == "data");
}
