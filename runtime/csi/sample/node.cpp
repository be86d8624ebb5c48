// The node's part of the sample plugin: bind mounts.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/csi/sample/services.hpp"

namespace nomad::csi::sample {
namespace {

namespace fs = std::filesystem;
using grpc::StatusCode;
using Kind = Store::Kind;

std::function<bool()> until_over(Context* context) {
  return [context] { return context->IsCancelled(); };
}

Status refused(const std::string& attempt, int error) {
  return {StatusCode::INTERNAL, attempt + ": " + std::strerror(error)};
}

bool is_mount(const std::string& path) {
  struct statx status {};

  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) == 0
         && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/// What is mounted there already stays.
Status bind_mount(const fs::path& from, const std::string& to, bool read_only) {
  if (to.empty()) return {StatusCode::INVALID_ARGUMENT, "there is no path to mount at"};
  fs::create_directories(to);
  if (is_mount(to)) return Status::OK;
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return refused("mounting " + to, errno);
  if (read_only
      && ::mount(nullptr, to.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    const int error = errno;
    ::umount2(to.c_str(), MNT_DETACH);
    return refused("making " + to + " read-only", error);
  }
  return Status::OK;
}

Status undo_mount(const std::string& path) {
  if (path.empty()) return {StatusCode::INVALID_ARGUMENT, "there is no path to unmount"};
  for (int layers = 0; is_mount(path) && layers < 100; ++layers)
    if (::umount2(path.c_str(), 0) != 0) return refused("unmounting " + path, errno);
  ::rmdir(path.c_str());
  return Status::OK;
}

Status unknown(const std::string& id) {
  return {StatusCode::NOT_FOUND, "there is no volume " + id};
}

}  // namespace

Status NodeService::NodeStageVolume(Context* context,
                                    const proto::NodeStageVolumeRequest* request,
                                    proto::NodeStageVolumeResponse*) {
  return parts_.manners.call(
      "NodeStageVolume", request->volume_id() + ' ' + request->staging_target_path(),
      until_over(context), [&] {
        if (!parts_.store.read(Kind::volumes, request->volume_id()))
          return unknown(request->volume_id());
        if (request->volume_capability().has_block())
          return Status{StatusCode::INVALID_ARGUMENT, "it is a directory, and no block device"};
        return bind_mount(parts_.store.data(Kind::volumes, request->volume_id()),
                          request->staging_target_path(), false);
      });
}

Status NodeService::NodeUnstageVolume(Context* context,
                                      const proto::NodeUnstageVolumeRequest* request,
                                      proto::NodeUnstageVolumeResponse*) {
  return parts_.manners.call(
      "NodeUnstageVolume", request->volume_id() + ' ' + request->staging_target_path(),
      until_over(context), [&] { return undo_mount(request->staging_target_path()); });
}

Status NodeService::NodePublishVolume(Context* context,
                                      const proto::NodePublishVolumeRequest* request,
                                      proto::NodePublishVolumeResponse*) {
  const auto words
      = request->volume_id() + ' ' + request->target_path() + (request->readonly() ? " ro" : " rw");
  return parts_.manners.call("NodePublishVolume", words, until_over(context), [&] {
    if (!parts_.store.read(Kind::volumes, request->volume_id()))
      return unknown(request->volume_id());
    fs::path from = request->staging_target_path();
    if (parts_.options.stages && !is_mount(from))
      return Status{StatusCode::FAILED_PRECONDITION, "the volume is not staged"};
    if (!parts_.options.stages) from = parts_.store.data(Kind::volumes, request->volume_id());
    return bind_mount(from, request->target_path(), request->readonly());
  });
}

Status NodeService::NodeUnpublishVolume(Context* context,
                                        const proto::NodeUnpublishVolumeRequest* request,
                                        proto::NodeUnpublishVolumeResponse*) {
  return parts_.manners.call(
      "NodeUnpublishVolume", request->volume_id() + ' ' + request->target_path(),
      until_over(context), [&] { return undo_mount(request->target_path()); });
}

Status NodeService::NodeGetVolumeStats(Context* context,
                                       const proto::NodeGetVolumeStatsRequest* request,
                                       proto::NodeGetVolumeStatsResponse* answer) {
  return parts_.manners.call("NodeGetVolumeStats", request->volume_id(), until_over(context), [&] {
    struct statvfs status {};

    if (::statvfs(request->volume_path().c_str(), &status) != 0)
      return Status{StatusCode::NOT_FOUND, "nothing is published there"};
    const auto block = static_cast<long long>(status.f_frsize);
    auto* const bytes = answer->add_usage();
    bytes->set_unit(proto::VolumeUsage::BYTES);
    bytes->set_total(static_cast<long long>(status.f_blocks) * block);
    bytes->set_available(static_cast<long long>(status.f_bavail) * block);
    bytes->set_used(bytes->total() - static_cast<long long>(status.f_bfree) * block);
    auto* const inodes = answer->add_usage();
    inodes->set_unit(proto::VolumeUsage::INODES);
    inodes->set_total(static_cast<long long>(status.f_files));
    inodes->set_available(static_cast<long long>(status.f_favail));
    inodes->set_used(static_cast<long long>(status.f_files - status.f_ffree));
    return Status::OK;
  });
}

Status NodeService::NodeExpandVolume(Context* context,
                                     const proto::NodeExpandVolumeRequest* request,
                                     proto::NodeExpandVolumeResponse* answer) {
  return parts_.manners.call(
      "NodeExpandVolume", request->volume_id() + ' ' + request->volume_path(), until_over(context),
      [&] {
        if (!parts_.store.read(Kind::volumes, request->volume_id()))
          return unknown(request->volume_id());
        answer->set_capacity_bytes(request->capacity_range().required_bytes());
        return Status::OK;
      });
}

Status NodeService::NodeGetCapabilities(Context* context,
                                        const proto::NodeGetCapabilitiesRequest*,
                                        proto::NodeGetCapabilitiesResponse* answer) {
  using Rpc = proto::NodeServiceCapability::RPC;
  return parts_.manners.call("NodeGetCapabilities", "", until_over(context), [&] {
    for (const auto type : {Rpc::GET_VOLUME_STATS, Rpc::EXPAND_VOLUME})
      answer->add_capabilities()->mutable_rpc()->set_type(type);
    if (parts_.options.stages)
      answer->add_capabilities()->mutable_rpc()->set_type(Rpc::STAGE_UNSTAGE_VOLUME);
    return Status::OK;
  });
}

Status NodeService::NodeGetInfo(Context* context,
                                const proto::NodeGetInfoRequest*,
                                proto::NodeGetInfoResponse* answer) {
  return parts_.manners.call("NodeGetInfo", "", until_over(context), [&] {
    answer->set_node_id(parts_.options.node);
    answer->set_max_volumes_per_node(parts_.options.max_volumes);
    if (!parts_.options.topology.empty())
      answer->mutable_accessible_topology()->mutable_segments()->insert(
          parts_.options.topology.begin(), parts_.options.topology.end());
    return Status::OK;
  });
}

}  // namespace nomad::csi::sample
