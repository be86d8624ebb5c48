// A question of an agent's as the request of a plugin's service. Pure.
#pragma once

#include "csi.pb.h"
#include "schema/csi_call.capnp.h"

namespace nomad::csi {

namespace proto = ::csi::v1;

using Call = schema::csi::Call::Reader;

void fill(Call from, proto::CreateVolumeRequest& to);
void fill(Call from, proto::DeleteVolumeRequest& to);
void fill(Call from, proto::ControllerPublishVolumeRequest& to);
void fill(Call from, proto::ControllerUnpublishVolumeRequest& to);
void fill(Call from, proto::ValidateVolumeCapabilitiesRequest& to);
void fill(Call from, proto::ListVolumesRequest& to);
void fill(Call from, proto::CreateSnapshotRequest& to);
void fill(Call from, proto::DeleteSnapshotRequest& to);
void fill(Call from, proto::ListSnapshotsRequest& to);
void fill(Call from, proto::ControllerExpandVolumeRequest& to);
void fill(Call from, proto::NodeStageVolumeRequest& to);
void fill(Call from, proto::NodeUnstageVolumeRequest& to);
void fill(Call from, proto::NodePublishVolumeRequest& to);
void fill(Call from, proto::NodeUnpublishVolumeRequest& to);
void fill(Call from, proto::NodeGetVolumeStatsRequest& to);
void fill(Call from, proto::NodeExpandVolumeRequest& to);

/// The requests that say nothing.
template <class Empty>
void fill(Call, Empty&) {}

}  // namespace nomad::csi
