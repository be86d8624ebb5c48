// What a node's question for a volume comes to.
#include "runtime/cluster/volumes/claim_question.hpp"

#include "test/unit/runtime/state/volumes/volume_fixture.hpp"

using namespace nomad;
using namespace nomad::test;

namespace {

struct Questions : VolumeState {
  Questions() {
    add_plugin();
    register_volume({.id = "data[0]"});
    run([](auto command) {
      auto job = command.initJobRegister().initJob();
      state::fill(job, state::JobSpec{});
      auto entry = job.getTaskGroups()[0].initVolumes(1)[0];
      entry.setKey("disk");
      entry.initValue().setType("csi");
      entry.getValue().setSource("data");
      entry.getValue().setPerAlloc(true);
    });
    place({{.id = "alloc"}});
  }

  Result<cluster::WantedClaim> ask(const std::string& node = "node",
                                   const std::string& volume = "data[0]",
                                   const std::string& alloc = "alloc") {
    Draft<schema::door::VolumeClaim> asked;
    asked->setAllocId(text(alloc));
    asked->setVolumeId(text(volume));
    asked->setMode(schema::CsiClaimMode::WRITE);
    asked->setAccessMode(schema::CsiAccessMode::SINGLE_NODE_WRITER);
    asked->setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
    return cluster::judge_claim_question(now(), node, asked.reader());
  }
};

}  // namespace

TEST_CASE_FIXTURE(Questions,
                  "claim questions: what the job asks for, of the node that has the allocation") {
  const auto wanted = ask();
  REQUIRE(wanted.has_value());
  CHECK(wanted->ns == "default");
  CHECK_FALSE(wanted->attaches);
  CHECK(view(wanted->claim->getExternalNodeId()) == "ext-node");
  CHECK(ask("other").error().what
        == "allocation \"alloc\" has not asked for volume \"data[0]\" on this node");
  CHECK(ask("node", "data").error().code == Errc::permission_denied);
  CHECK(ask("node", "data[0]", "none").error().code == Errc::not_found);
}

TEST_CASE_FIXTURE(Questions, "claim questions: a plugin that is not well may be so later") {
  add_plugin({.node_healthy = false});
  CHECK(ask().error().code == Errc::unavailable);
  CHECK(ask().error().what == "CSI plugin p is unhealthy on client node");
  add_plugin({.has_controller = true, .controller_healthy = false});
  CHECK(ask().error().what == "no healthy controllers for CSI plugin: p");
  add_plugin({.has_controller = true});
  CHECK(ask()->attaches);
  CHECK(cluster::healthy_controllers(now(), "p") == std::vector<std::string>{"node"});
}

TEST_CASE_FIXTURE(Questions, "claim questions: claims are known by allocation and node") {
  REQUIRE_FALSE(claim({}, "data[0]").error);
  const auto row = volume("data[0]");
  CHECK(cluster::has_claim(*row, "alloc"));
  CHECK(cluster::claim_of_node(*row, "alloc", "node"));
  CHECK_FALSE(cluster::claim_of_node(*row, "alloc", "other"));
  CHECK(cluster::external_node_id(now(), *row, row->getClaims()[0]) == "ext-node");
}
