#include "actors/client/volumes/csi_objects.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::client;

TEST_CASE("csi_objects: a way to use a volume has Nomad's name") {
  CHECK(usage_of(false, schema::CsiAttachmentMode::FILE_SYSTEM,
                 schema::CsiAccessMode::SINGLE_NODE_WRITER)
        == "rw-file-system-single-node-writer");
  CHECK(usage_of(true, schema::CsiAttachmentMode::BLOCK_DEVICE,
                 schema::CsiAccessMode::MULTI_NODE_READER_ONLY)
        == "ro-block-device-multi-node-reader-only");
}

TEST_CASE("csi_objects: access modes are CSI's numbers") {
  CHECK(csi_access_mode(schema::CsiAccessMode::SINGLE_NODE_WRITER) == 1);
  CHECK(csi_access_mode(schema::CsiAccessMode::SINGLE_NODE_READER_ONLY) == 2);
  CHECK(csi_access_mode(schema::CsiAccessMode::MULTI_NODE_MULTI_WRITER) == 5);
}

TEST_CASE("csi_objects: a job's mount options come before the volume's") {
  Draft<schema::MountOptions> volume;
  volume->setFsType("ext4");
  volume->initMountFlags(1).set(0, "noatime");
  const auto both = merged({.fs_type = "xfs"}, volume.reader());
  CHECK(both.fs_type == "xfs");
  CHECK(both.flags == std::vector<std::string>{"noatime"});
}

TEST_CASE("csi_objects: what a controller confirms has to be what was asked") {
  Draft<schema::door::CsiControllerCall> asked;
  auto one = asked->initValidate().initCapabilities(1)[0];
  one.setAccessMode(schema::CsiAccessMode::SINGLE_NODE_WRITER);
  one.setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
  Draft<schema::csi::Answer> answer;
  Draft<schema::door::CsiControllerResult> result;
  const auto outcome = [&] { return write_result(asked.reader(), answer.reader(), *result); };

  CHECK(outcome().error().what == "volume is not compatible with the volume capabilities");
  answer->setIsConfirmed(true);
  CHECK(outcome().has_value());
  answer->initConfirmed(1)[0].setAccessMode(5);
  CHECK(outcome().error().what
        == "volume capability validation failed: requested rw-file-system-single-node-writer was not "
           "confirmed by the plugin");
  answer->getConfirmed()[0].setAccessMode(1);
  CHECK(outcome().has_value());
}

TEST_CASE("csi_objects: the node's record says what plugins can") {
  CsiStandings standings{.changed_at = 7};
  workload::PluginStanding standing{
      .plugin = {.alloc = "a", .id = "p"}, .healthy = true, .description = "healthy"};
  standing.facts = {.provider = "local",
                    .version = "1",
                    .plugin_capabilities = 0b10,
                    .controller_capabilities = 0b110,
                    .node_capabilities = 0b10,
                    .node_id = "n",
                    .topology = {{"zone", "z1"}}};
  standings.nodes.emplace("p", standing);
  standings.controllers.emplace("p", standing);
  Draft<schema::Node> node;

  write_standings(standings, *node);

  const auto info = node.reader().getCsiNodePlugins()[0].getValue();
  CHECK(view(info.getProvider()) == "local");
  CHECK(info.getUpdateTime() == 7);
  CHECK(info.getRequiresControllerPlugin());
  CHECK_FALSE(info.getRequiresTopologies());
  CHECK(info.getNodeInfo().getMaxVolumes() == std::numeric_limits<std::int64_t>::max());
  CHECK(info.getNodeInfo().getRequiresNodeStageVolume());
  CHECK(view(info.getNodeInfo().getAccessibleTopology().getSegments()[0].getValue()) == "z1");
  const auto controller = node.reader().getCsiControllerPlugins()[0].getValue().getControllerInfo();
  CHECK(controller.getSupportsAttachDetach());
  CHECK_FALSE(controller.getSupportsExpand());
}
