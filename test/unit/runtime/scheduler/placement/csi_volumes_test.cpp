// Why a node cannot give a group its CSI volumes, in Nomad's words.
#include "runtime/scheduler/placement/csi_volumes.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct Placing : Harness {
  std::string node;

  void add(bool healthy = true, std::int64_t most = 0, const char* rack = "r1") {
    node = add_node([&](schema::Node::Builder builder) {
      auto entry = builder.initCsiNodePlugins(1)[0];
      entry.setKey("p");
      entry.initValue().setHealthy(healthy);
      auto info = entry.getValue().initNodeInfo();
      info.setMaxVolumes(most);
      auto segment = info.initAccessibleTopology().initSegments(1)[0];
      segment.setKey("rack");
      segment.setValue(rack);
    });
  }

  void add_volume(const char* id, const char* rack = nullptr) {
    apply([&](schema::Command::Builder command) {
      auto volume = command.initCsiVolumeRegister().initVolume();
      volume.setId(id);
      volume.setNamespace("default");
      volume.setPluginId("p");
      auto one = volume.initRequestedCapabilities(1)[0];
      one.setAccessMode(schema::CsiAccessMode::SINGLE_NODE_WRITER);
      one.setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
      if (rack == nullptr) return;
      auto segment = volume.initTopologies(1)[0].initSegments(1)[0];
      segment.setKey("rack");
      segment.setValue(rack);
    });
  }

  static EditJob wants(bool read_only = false,
                       bool per_alloc = false,
                       const char* mode = "single-node-writer",
                       const char* id = "web") {
    return [=](schema::Job::Builder job) {
      job.setId(id);
      auto entry = job.getTaskGroups()[0].initVolumes(1)[0];
      entry.setKey("disk");
      auto volume = entry.initValue();
      volume.setType("csi");
      volume.setSource("data");
      volume.setReadOnly(read_only);
      volume.setPerAlloc(per_alloc);
      volume.setAccessMode(mode);
      volume.setAttachmentMode("file-system");
    };
  }

  std::string place(const EditJob& edit, std::int64_t count = 1) {
    const auto eval = process(register_job(make_job(count, edit)));
    if (eval->getFailedTgAllocs().size() == 0) return "placed";
    const auto reasons = eval->getFailedTgAllocs()[0].getValue().getConstraintFiltered();
    return reasons.size() == 0 ? "no room" : copy(reasons[0].getKey());
  }

  /// Another job's allocation has the volume.
  void claim_elsewhere() {
    apply([&](schema::Command::Builder command) {
      auto entry = command.initCsiClaimUpdate().initEntries(1)[0];
      entry.setNamespace("default");
      entry.setVolumeId("data");
      auto claim = entry.initClaim();
      for (const auto& alloc : state().allocs_by_job("default", "other"))
        claim.setAllocId(text(alloc.value()->alloc->id()));
      claim.setNodeId(text(node));
      claim.setMode(schema::CsiClaimMode::WRITE);
      claim.setAccessMode(schema::CsiAccessMode::SINGLE_NODE_WRITER);
      claim.setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
    });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Placing,
                  "csi volumes: a volume must be there, each allocation's own with its index") {
  add();
  CHECK(place(wants()) == "missing CSI Volume data");
  CHECK(place(wants(false, true)) == "missing CSI Volume data[0]");
  add_volume("data[0]");
  CHECK(place(wants(false, true)) == "placed");
}

TEST_CASE_FIXTURE(Placing, "csi volumes: an evaluation that waits for one says so") {
  add();
  process(register_job(make_job(1, wants())));
  bool waits = false;
  for (const auto& entry : state().evals())
    waits = waits || entry.value()->getWaitsForVolumes();
  CHECK(waits);
}

TEST_CASE_FIXTURE(Placing, "csi volumes: its plugin must be on the node, and well") {
  add_volume("data");
  const auto bare = add_node();
  CHECK(place(wants()) == "CSI plugin p is missing from client " + bare);
}

TEST_CASE_FIXTURE(Placing, "csi volumes: an unhealthy plugin gives none") {
  add(false);
  add_volume("data");
  CHECK(place(wants()) == "CSI plugin p is unhealthy on client " + node);
}

TEST_CASE_FIXTURE(Placing, "csi volumes: topologies are met, or the node is passed over") {
  add();
  add_volume("data", "r2");
  CHECK(place(wants()) == "did not meet topology requirement");
  add_volume("data", "r1");
  CHECK(place(wants()) == "placed");
}

TEST_CASE_FIXTURE(Placing, "csi volumes: a node takes as many as its plugin says") {
  add(true, 1);
  add_volume("data[0]");
  add_volume("data[1]");
  CHECK(place(wants(false, true), 2)
        == "CSI plugin p has the maximum number of volumes on client " + node);
}

TEST_CASE_FIXTURE(Placing, "csi volumes: one writer is placed, also of one plan") {
  add();
  add_volume("data");
  CHECK(place(wants(), 2) == "CSI volume data has exhausted its available writer claims");
  CHECK(place(wants(false, false, "multi-node-multi-writer", "third"))
        == "CSI volume data is unschedulable or is read-only");
}

TEST_CASE_FIXTURE(Placing, "csi volumes: what another job has is not to be had") {
  add();
  add_volume("data");
  REQUIRE(place(wants(false, false, "single-node-writer", "other")) == "placed");
  claim_elsewhere();
  CHECK(place(wants()) == "CSI volume data has exhausted its available writer claims");
  CHECK(place(wants(true)) == "placed");
}
