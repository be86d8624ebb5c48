#include "runtime/csi/caller/answers.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::csi;

TEST_CASE("answers: a volume is taken whole") {
  proto::CreateVolumeResponse from;
  auto* const volume = from.mutable_volume();
  volume->set_volume_id("v");
  volume->set_capacity_bytes(7);
  (*volume->mutable_volume_context())["b"] = "2";
  (*volume->mutable_volume_context())["a"] = "1";
  (*volume->add_accessible_topology()->mutable_segments())["zone"] = "z1";
  Draft<schema::csi::Answer> to;

  CHECK(take(from, *to) == "");

  const auto taken = to.reader().getVolumes()[0];
  CHECK(view(taken.getId()) == "v");
  CHECK(taken.getCapacityBytes() == 7);
  CHECK(view(taken.getContext()[0].getKey()) == "a");  // sorted
  CHECK(view(taken.getTopologies()[0].getSegments()[0].getValue()) == "z1");
}

TEST_CASE("answers: what can't be is no answer") {
  Draft<schema::csi::Answer> to;
  proto::CreateVolumeResponse volume;
  CHECK(take(volume, *to) == "it answers with a volume without an id");
  volume.mutable_volume()->set_volume_id(std::string(5000, 'x'));
  CHECK(take(volume, *to) == "it answers with a volume id of 5000 bytes");
  volume.mutable_volume()->set_volume_id("a\nb");
  CHECK(take(volume, *to) == "it answers with a volume id with control characters");
  volume.mutable_volume()->set_volume_id("v");
  volume.mutable_volume()->set_capacity_bytes(-1);
  CHECK(take(volume, *to) == "it answers with a capacity below zero");

  proto::ListVolumesResponse list;
  for (int i = 0; i < 10'001; ++i)
    list.add_entries()->mutable_volume()->set_volume_id("v");
  CHECK(take(list, *to) == "it answers with 10001 volumes");

  proto::ControllerPublishVolumeResponse context;
  (*context.mutable_publish_context())["x"] = std::string(100'000, 'x');
  CHECK(take(context, *to) == "it answers with a publish context of 100001 bytes");

  proto::CreateSnapshotResponse snapshot;
  CHECK(take(snapshot, *to) == "it answers with a snapshot without an id");

  proto::NodeGetInfoResponse node;
  CHECK(take(node, *to) == "it answers with no id of the node");
  proto::GetPluginInfoResponse info;
  CHECK(take(info, *to) == "it answers with no name of itself");
}

TEST_CASE("answers: capabilities are bits at their numbers, and unknown ones are passed over") {
  proto::NodeGetCapabilitiesResponse from;
  from.add_capabilities()->mutable_rpc()->set_type(
      proto::NodeServiceCapability::RPC::STAGE_UNSTAGE_VOLUME);
  from.add_capabilities()->mutable_rpc()->set_type(
      static_cast<proto::NodeServiceCapability::RPC::Type>(999));
  from.add_capabilities();
  Draft<schema::csi::Answer> to;

  CHECK(take(from, *to) == "");
  CHECK(to.reader().getCapabilities() == 2);
}

TEST_CASE("answers: a plugin that says nothing of its readiness is ready") {
  proto::ProbeResponse from;
  Draft<schema::csi::Answer> to;
  CHECK(take(from, *to) == "");
  CHECK(to.reader().getReady());
  from.mutable_ready()->set_value(false);
  CHECK(take(from, *to) == "");
  CHECK_FALSE(to.reader().getReady());
}

TEST_CASE("answers: texts become one line") {
  CHECK(one_line("two\nlines\t\x1b[31m \n") == "two lines \\x1b[31m");
  CHECK(one_line(std::string(10'000, 'x')).size() == 4096);
}
