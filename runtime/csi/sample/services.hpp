// The three services of the sample plugin. gRPC calls them on its threads; `Manners` lets one call
// work at a time.
#pragma once

#include <string>

#include "csi.grpc.pb.h"
#include "runtime/csi/sample/options.hpp"
#include "runtime/csi/sample/store.hpp"

namespace nomad::csi::sample {

namespace proto = ::csi::v1;
using Context = grpc::ServerContext;
using grpc::Status;

inline constexpr const char* plugin_name = "local.csi.nomadctl.dev";
inline constexpr const char* plugin_version = "1.0.0";

struct Parts {
  const Options& options;
  const Store& store;
  Manners& manners;
};

class IdentityService final : public proto::Identity::Service {
public:
  explicit IdentityService(Parts parts) : parts_{parts} {}

  Status GetPluginInfo(Context*,
                       const proto::GetPluginInfoRequest*,
                       proto::GetPluginInfoResponse*) override;
  Status GetPluginCapabilities(Context*,
                               const proto::GetPluginCapabilitiesRequest*,
                               proto::GetPluginCapabilitiesResponse*) override;
  Status Probe(Context*, const proto::ProbeRequest*, proto::ProbeResponse*) override;

private:
  Parts parts_;
};

class ControllerService final : public proto::Controller::Service {
public:
  explicit ControllerService(Parts parts) : parts_{parts} {}

  Status CreateVolume(Context*,
                      const proto::CreateVolumeRequest*,
                      proto::CreateVolumeResponse*) override;
  Status DeleteVolume(Context*,
                      const proto::DeleteVolumeRequest*,
                      proto::DeleteVolumeResponse*) override;
  Status ControllerPublishVolume(Context*,
                                 const proto::ControllerPublishVolumeRequest*,
                                 proto::ControllerPublishVolumeResponse*) override;
  Status ControllerUnpublishVolume(Context*,
                                   const proto::ControllerUnpublishVolumeRequest*,
                                   proto::ControllerUnpublishVolumeResponse*) override;
  Status ValidateVolumeCapabilities(Context*,
                                    const proto::ValidateVolumeCapabilitiesRequest*,
                                    proto::ValidateVolumeCapabilitiesResponse*) override;
  Status ListVolumes(Context*,
                     const proto::ListVolumesRequest*,
                     proto::ListVolumesResponse*) override;
  Status ControllerGetCapabilities(Context*,
                                   const proto::ControllerGetCapabilitiesRequest*,
                                   proto::ControllerGetCapabilitiesResponse*) override;
  Status CreateSnapshot(Context*,
                        const proto::CreateSnapshotRequest*,
                        proto::CreateSnapshotResponse*) override;
  Status DeleteSnapshot(Context*,
                        const proto::DeleteSnapshotRequest*,
                        proto::DeleteSnapshotResponse*) override;
  Status ListSnapshots(Context*,
                       const proto::ListSnapshotsRequest*,
                       proto::ListSnapshotsResponse*) override;
  Status ControllerExpandVolume(Context*,
                                const proto::ControllerExpandVolumeRequest*,
                                proto::ControllerExpandVolumeResponse*) override;

private:
  Status create(const proto::CreateVolumeRequest& request, proto::Volume& made) const;
  Status publish(const proto::ControllerPublishVolumeRequest& request,
                 proto::ControllerPublishVolumeResponse& answer) const;
  Status snapshot(const proto::CreateSnapshotRequest& request, proto::Snapshot& made) const;
  void describe(const std::string& id, const About& about, proto::Volume& to) const;

  Parts parts_;
};

class NodeService final : public proto::Node::Service {
public:
  explicit NodeService(Parts parts) : parts_{parts} {}

  Status NodeStageVolume(Context*,
                         const proto::NodeStageVolumeRequest*,
                         proto::NodeStageVolumeResponse*) override;
  Status NodeUnstageVolume(Context*,
                           const proto::NodeUnstageVolumeRequest*,
                           proto::NodeUnstageVolumeResponse*) override;
  Status NodePublishVolume(Context*,
                           const proto::NodePublishVolumeRequest*,
                           proto::NodePublishVolumeResponse*) override;
  Status NodeUnpublishVolume(Context*,
                             const proto::NodeUnpublishVolumeRequest*,
                             proto::NodeUnpublishVolumeResponse*) override;
  Status NodeGetVolumeStats(Context*,
                            const proto::NodeGetVolumeStatsRequest*,
                            proto::NodeGetVolumeStatsResponse*) override;
  Status NodeExpandVolume(Context*,
                          const proto::NodeExpandVolumeRequest*,
                          proto::NodeExpandVolumeResponse*) override;
  Status NodeGetCapabilities(Context*,
                             const proto::NodeGetCapabilitiesRequest*,
                             proto::NodeGetCapabilitiesResponse*) override;
  Status NodeGetInfo(Context*,
                     const proto::NodeGetInfoRequest*,
                     proto::NodeGetInfoResponse*) override;

private:
  Parts parts_;
};

}  // namespace nomad::csi::sample
