// What a plugin has answered, as an agent reads it: checked, and within bounds. An answer is bytes
// from outside, of a program that may be wrong about anything. Pure.
#pragma once

#include <string>

#include "csi.pb.h"
#include "schema/csi_call.capnp.h"

namespace nomad::csi {

namespace proto = ::csi::v1;

/// What makes an answer none: "it answers with a volume id of 5000 bytes"; empty: it was taken.
using Complaint = std::string;

/// `text` as one line without control characters, of no more than `most` bytes.
std::string one_line(const std::string& text, std::size_t most = 4096);

using Into = schema::csi::Answer::Builder;

Complaint take(const proto::GetPluginInfoResponse& from, Into to);
Complaint take(const proto::GetPluginCapabilitiesResponse& from, Into to);
Complaint take(const proto::ProbeResponse& from, Into to);
Complaint take(const proto::CreateVolumeResponse& from, Into to);
Complaint take(const proto::ControllerPublishVolumeResponse& from, Into to);
Complaint take(const proto::ValidateVolumeCapabilitiesResponse& from, Into to);
Complaint take(const proto::ListVolumesResponse& from, Into to);
Complaint take(const proto::ControllerGetCapabilitiesResponse& from, Into to);
Complaint take(const proto::CreateSnapshotResponse& from, Into to);
Complaint take(const proto::ListSnapshotsResponse& from, Into to);
Complaint take(const proto::ControllerExpandVolumeResponse& from, Into to);
Complaint take(const proto::NodeGetVolumeStatsResponse& from, Into to);
Complaint take(const proto::NodeExpandVolumeResponse& from, Into to);
Complaint take(const proto::NodeGetCapabilitiesResponse& from, Into to);
Complaint take(const proto::NodeGetInfoResponse& from, Into to);

/// The answers that say nothing.
template <class Empty>
Complaint take(const Empty&, Into) {
  return {};
}

}  // namespace nomad::csi
