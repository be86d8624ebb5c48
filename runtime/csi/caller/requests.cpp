#include "runtime/csi/caller/requests.hpp"

#include <string>

namespace nomad::csi {
namespace {

namespace wire = schema::csi;

std::string as_string(capnp::Text::Reader from) {
  return {from.begin(), from.size()};
}

template <class Map>
void put_map(capnp::List<wire::Entry>::Reader from, Map* to) {
  for (const auto entry : from)
    (*to)[as_string(entry.getKey())] = as_string(entry.getValue());
}

void put_capability(wire::Capability::Reader from, proto::VolumeCapability* to) {
  to->mutable_access_mode()->set_mode(
      static_cast<proto::VolumeCapability::AccessMode::Mode>(from.getAccessMode()));
  if (from.getBlock()) {
    to->mutable_block();
    return;
  }
  auto* const mount = to->mutable_mount();
  mount->set_fs_type(as_string(from.getFsType()));
  for (const auto flag : from.getMountFlags())
    mount->add_mount_flags(as_string(flag));
}

/// The one that the method takes.
template <class Request>
void put_one_capability(Call from, Request& to) {
  const auto all = from.getCapabilities();
  if (all.size() > 0) put_capability(all[0], to.mutable_volume_capability());
}

template <class Request>
void put_capabilities(Call from, Request& to) {
  for (const auto one : from.getCapabilities())
    put_capability(one, to.add_volume_capabilities());
}

/// Without bounds there is no range: one of zeros is against the specification.
template <class Request>
void put_range(Call from, Request& to) {
  if (from.getRequiredBytes() <= 0 && from.getLimitBytes() <= 0) return;
  to.mutable_capacity_range()->set_required_bytes(from.getRequiredBytes());
  to.mutable_capacity_range()->set_limit_bytes(from.getLimitBytes());
}

}  // namespace

void fill(Call from, proto::CreateVolumeRequest& to) {
  to.set_name(as_string(from.getName()));
  put_range(from, to);
  put_capabilities(from, to);
  put_map(from.getParameters(), to.mutable_parameters());
  put_map(from.getSecrets(), to.mutable_secrets());
  if (from.getSourceSnapshot().size() > 0)
    to.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(
        as_string(from.getSourceSnapshot()));
  else if (from.getSourceVolume().size() > 0)
    to.mutable_volume_content_source()->mutable_volume()->set_volume_id(
        as_string(from.getSourceVolume()));
  for (const auto one : from.getRequisite())
    put_map(one.getSegments(),
            to.mutable_accessibility_requirements()->add_requisite()->mutable_segments());
  for (const auto one : from.getPreferred())
    put_map(one.getSegments(),
            to.mutable_accessibility_requirements()->add_preferred()->mutable_segments());
}

void fill(Call from, proto::DeleteVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  put_map(from.getSecrets(), to.mutable_secrets());
}

void fill(Call from, proto::ControllerPublishVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  to.set_node_id(as_string(from.getNodeId()));
  put_one_capability(from, to);
  to.set_readonly(from.getReadOnly());
  put_map(from.getSecrets(), to.mutable_secrets());
  put_map(from.getVolumeContext(), to.mutable_volume_context());
}

void fill(Call from, proto::ControllerUnpublishVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  to.set_node_id(as_string(from.getNodeId()));
  put_map(from.getSecrets(), to.mutable_secrets());
}

void fill(Call from, proto::ValidateVolumeCapabilitiesRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  put_map(from.getVolumeContext(), to.mutable_volume_context());
  put_capabilities(from, to);
  put_map(from.getParameters(), to.mutable_parameters());
  put_map(from.getSecrets(), to.mutable_secrets());
}

void fill(Call from, proto::ListVolumesRequest& to) {
  to.set_max_entries(from.getMaxEntries());
  to.set_starting_token(as_string(from.getStartingToken()));
}

void fill(Call from, proto::CreateSnapshotRequest& to) {
  to.set_source_volume_id(as_string(from.getSourceVolume()));
  to.set_name(as_string(from.getName()));
  put_map(from.getSecrets(), to.mutable_secrets());
  put_map(from.getParameters(), to.mutable_parameters());
}

void fill(Call from, proto::DeleteSnapshotRequest& to) {
  to.set_snapshot_id(as_string(from.getSnapshotId()));
  put_map(from.getSecrets(), to.mutable_secrets());
}

void fill(Call from, proto::ListSnapshotsRequest& to) {
  to.set_max_entries(from.getMaxEntries());
  to.set_starting_token(as_string(from.getStartingToken()));
  to.set_source_volume_id(as_string(from.getSourceVolume()));
  to.set_snapshot_id(as_string(from.getSnapshotId()));
  put_map(from.getSecrets(), to.mutable_secrets());
}

void fill(Call from, proto::ControllerExpandVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  put_range(from, to);
  put_map(from.getSecrets(), to.mutable_secrets());
  put_one_capability(from, to);
}

void fill(Call from, proto::NodeStageVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  put_map(from.getPublishContext(), to.mutable_publish_context());
  to.set_staging_target_path(as_string(from.getStagingPath()));
  put_one_capability(from, to);
  put_map(from.getSecrets(), to.mutable_secrets());
  put_map(from.getVolumeContext(), to.mutable_volume_context());
}

void fill(Call from, proto::NodeUnstageVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  to.set_staging_target_path(as_string(from.getStagingPath()));
}

void fill(Call from, proto::NodePublishVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  put_map(from.getPublishContext(), to.mutable_publish_context());
  to.set_staging_target_path(as_string(from.getStagingPath()));
  to.set_target_path(as_string(from.getTargetPath()));
  put_one_capability(from, to);
  to.set_readonly(from.getReadOnly());
  put_map(from.getSecrets(), to.mutable_secrets());
  put_map(from.getVolumeContext(), to.mutable_volume_context());
}

void fill(Call from, proto::NodeUnpublishVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  to.set_target_path(as_string(from.getTargetPath()));
}

void fill(Call from, proto::NodeGetVolumeStatsRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  to.set_volume_path(as_string(from.getTargetPath()));
  to.set_staging_target_path(as_string(from.getStagingPath()));
}

void fill(Call from, proto::NodeExpandVolumeRequest& to) {
  to.set_volume_id(as_string(from.getVolumeId()));
  to.set_volume_path(as_string(from.getTargetPath()));
  put_range(from, to);
  to.set_staging_target_path(as_string(from.getStagingPath()));
  put_one_capability(from, to);
  put_map(from.getSecrets(), to.mutable_secrets());
}

}  // namespace nomad::csi
