// Identity and controller of the sample plugin.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/csi/sample/services.hpp"

namespace nomad::csi::sample {
namespace {

using grpc::StatusCode;
using Kind = Store::Kind;

constexpr std::size_t flood_bytes = std::size_t{64} << 20;
constexpr long long least_capacity = 1 << 20;
constexpr int usual_page = 100;

Status no_volume(const std::string& id) {
  return {StatusCode::NOT_FOUND, "there is no volume " + id};
}

std::function<bool()> over(Context* context) {
  return [context] { return context->IsCancelled(); };
}

long long number(const About& about, const std::string& key) {
  const auto found = about.find(key);
  return found == about.end() ? 0 : std::atoll(found->second.c_str());
}

/// Whether the volume's capacity is within the range.
bool suits(const proto::CapacityRange& range, long long capacity) {
  return capacity >= range.required_bytes()
         && (range.limit_bytes() == 0 || capacity <= range.limit_bytes());
}

void describe_snapshot(const std::string& id, const About& about, proto::Snapshot& to) {
  to.set_snapshot_id(id);
  to.set_source_volume_id(about.at("source"));
  to.set_size_bytes(number(about, "size"));
  to.mutable_creation_time()->set_seconds(number(about, "time"));
  to.set_ready_to_use(true);
}

/// Where a page begins, and how long it is. Negative: there is no such page.
std::pair<int, int> page(const std::string& token, int most, std::size_t all) {
  int begin = 0;
  for (const char sign : token) {
    if (sign < '0' || sign > '9' || begin > 1'000'000) return {-1, 0};
    begin = begin * 10 + (sign - '0');
  }
  if (begin > static_cast<int>(all)) return {-1, 0};
  return {begin, std::min(most > 0 ? most : usual_page, static_cast<int>(all) - begin)};
}

}  // namespace

Status IdentityService::GetPluginInfo(Context* context,
                                      const proto::GetPluginInfoRequest*,
                                      proto::GetPluginInfoResponse* answer) {
  return parts_.manners.call("GetPluginInfo", "", over(context), [&] {
    const bool floods = parts_.manners.is("GetPluginInfo", "flood");
    answer->set_name(floods ? std::string(flood_bytes, 'x') : plugin_name);
    answer->set_vendor_version(plugin_version);
    return Status::OK;
  });
}

Status IdentityService::GetPluginCapabilities(Context* context,
                                              const proto::GetPluginCapabilitiesRequest*,
                                              proto::GetPluginCapabilitiesResponse* answer) {
  return parts_.manners.call("GetPluginCapabilities", "", over(context), [&] {
    answer->add_capabilities()->mutable_service()->set_type(
        proto::PluginCapability::Service::CONTROLLER_SERVICE);
    answer->add_capabilities()->mutable_volume_expansion()->set_type(
        proto::PluginCapability::VolumeExpansion::ONLINE);
    if (!parts_.options.topology.empty())
      answer->add_capabilities()->mutable_service()->set_type(
          proto::PluginCapability::Service::VOLUME_ACCESSIBILITY_CONSTRAINTS);
    return Status::OK;
  });
}

Status IdentityService::Probe(Context* context,
                              const proto::ProbeRequest*,
                              proto::ProbeResponse* answer) {
  return parts_.manners.call("Probe", "", over(context), [&] {
    answer->mutable_ready()->set_value(!parts_.manners.is("Probe", "unready"));
    return Status::OK;
  });
}

void ControllerService::describe(const std::string& id,
                                 const About& about,
                                 proto::Volume& to) const {
  to.set_volume_id(id);
  to.set_capacity_bytes(number(about, "capacity"));
  (*to.mutable_volume_context())["kind"] = "directory";
  if (about.count("snapshot") > 0)
    to.mutable_content_source()->mutable_snapshot()->set_snapshot_id(about.at("snapshot"));
  if (about.count("clone") > 0)
    to.mutable_content_source()->mutable_volume()->set_volume_id(about.at("clone"));
  if (!parts_.options.topology.empty())
    to.add_accessible_topology()->mutable_segments()->insert(parts_.options.topology.begin(),
                                                             parts_.options.topology.end());
}

Status ControllerService::create(const proto::CreateVolumeRequest& request,
                                 proto::Volume& made) const {
  if (request.name().empty()) return {StatusCode::INVALID_ARGUMENT, "a volume needs a name"};
  if (request.volume_capabilities_size() == 0)
    return {StatusCode::INVALID_ARGUMENT, "a volume needs a capability"};
  const auto& range = request.capacity_range();
  if (range.limit_bytes() > 0 && range.limit_bytes() < range.required_bytes())
    return {StatusCode::OUT_OF_RANGE, "the limit is below what is required"};
  const auto id = Store::id_of(request.name());
  const auto& source = request.volume_content_source();
  if (const auto known = parts_.store.read(Kind::volumes, id)) {
    const bool is_same_source
        = (known->count("snapshot") > 0 ? known->at("snapshot") : "")
              == source.snapshot().snapshot_id()
          && (known->count("clone") > 0 ? known->at("clone") : "") == source.volume().volume_id();
    if (!suits(range, number(*known, "capacity")) || !is_same_source)
      return {StatusCode::ALREADY_EXISTS, "it is another volume of that name"};
    describe(id, *known, made);
    return Status::OK;
  }
  About about{
      {"capacity", std::to_string(std::max<long long>(range.required_bytes(), least_capacity))}};
  std::filesystem::path from;
  if (source.has_snapshot()) {
    about["snapshot"] = source.snapshot().snapshot_id();
    if (!parts_.store.read(Kind::snapshots, about["snapshot"]))
      return {StatusCode::NOT_FOUND, "there is no snapshot " + about["snapshot"]};
    from = parts_.store.data(Kind::snapshots, about["snapshot"]);
  } else if (source.has_volume()) {
    about["clone"] = source.volume().volume_id();
    if (!parts_.store.read(Kind::volumes, about["clone"])) return no_volume(about["clone"]);
    from = parts_.store.data(Kind::volumes, about["clone"]);
  }
  parts_.store.make(Kind::volumes, id, about, from);
  describe(id, about, made);
  return Status::OK;
}

Status ControllerService::CreateVolume(Context* context,
                                       const proto::CreateVolumeRequest* request,
                                       proto::CreateVolumeResponse* answer) {
  return parts_.manners.call("CreateVolume", request->name(), over(context),
                             [&] { return create(*request, *answer->mutable_volume()); });
}

Status ControllerService::DeleteVolume(Context* context,
                                       const proto::DeleteVolumeRequest* request,
                                       proto::DeleteVolumeResponse*) {
  return parts_.manners.call("DeleteVolume", request->volume_id(), over(context), [&] {
    if (!parts_.store.read(Kind::volumes, request->volume_id())) return Status::OK;
    if (!parts_.store.attached(request->volume_id()).empty())
      return Status{StatusCode::FAILED_PRECONDITION, "it is attached to a node"};
    parts_.store.remove(Kind::volumes, request->volume_id());
    return Status::OK;
  });
}

Status ControllerService::publish(const proto::ControllerPublishVolumeRequest& request,
                                  proto::ControllerPublishVolumeResponse& answer) const {
  if (!parts_.store.read(Kind::volumes, request.volume_id())) return no_volume(request.volume_id());
  const auto node = Store::id_of(request.node_id());
  const auto mode = request.volume_capability().access_mode().mode();
  const bool is_of_one = mode == proto::VolumeCapability::AccessMode::SINGLE_NODE_WRITER
                         || mode == proto::VolumeCapability::AccessMode::SINGLE_NODE_READER_ONLY;
  for (const auto& [other, how] : parts_.store.attached(request.volume_id()))
    if (is_of_one && other != node)
      return {StatusCode::FAILED_PRECONDITION, "it is attached to node " + other};
  parts_.store.attach(request.volume_id(), node, request.readonly() ? "ro" : "rw");
  (*answer.mutable_publish_context())["attached"] = request.node_id();
  return Status::OK;
}

Status ControllerService::ControllerPublishVolume(
    Context* context,
    const proto::ControllerPublishVolumeRequest* request,
    proto::ControllerPublishVolumeResponse* answer) {
  return parts_.manners.call("ControllerPublishVolume",
                             request->volume_id() + ' ' + request->node_id(), over(context),
                             [&] { return publish(*request, *answer); });
}

Status ControllerService::ControllerUnpublishVolume(
    Context* context,
    const proto::ControllerUnpublishVolumeRequest* request,
    proto::ControllerUnpublishVolumeResponse*) {
  return parts_.manners.call("ControllerUnpublishVolume",
                             request->volume_id() + ' ' + request->node_id(), over(context), [&] {
                               if (parts_.store.read(Kind::volumes, request->volume_id()))
                                 parts_.store.detach(request->volume_id(),
                                                     Store::id_of(request->node_id()));
                               return Status::OK;
                             });
}

Status ControllerService::ValidateVolumeCapabilities(
    Context* context,
    const proto::ValidateVolumeCapabilitiesRequest* request,
    proto::ValidateVolumeCapabilitiesResponse* answer) {
  return parts_.manners.call("ValidateVolumeCapabilities", request->volume_id(), over(context),
                             [&] {
                               if (!parts_.store.read(Kind::volumes, request->volume_id()))
                                 return no_volume(request->volume_id());
                               for (const auto& one : request->volume_capabilities())
                                 if (one.has_block()) {
                                   answer->set_message("it is a directory, and no block device");
                                   return Status::OK;
                                 }
                               *answer->mutable_confirmed()->mutable_volume_capabilities()
                                   = request->volume_capabilities();
                               return Status::OK;
                             });
}

Status ControllerService::ListVolumes(Context* context,
                                      const proto::ListVolumesRequest* request,
                                      proto::ListVolumesResponse* answer) {
  return parts_.manners.call("ListVolumes", request->starting_token(), over(context), [&] {
    const auto ids = parts_.store.list(Kind::volumes);
    const auto [begin, count] = page(request->starting_token(), request->max_entries(), ids.size());
    if (begin < 0) return Status{StatusCode::ABORTED, "there is no such page"};
    for (int at = begin; at < begin + count; ++at) {
      const auto& id = ids[static_cast<std::size_t>(at)];
      auto* const entry = answer->add_entries();
      describe(id, *parts_.store.read(Kind::volumes, id), *entry->mutable_volume());
      for (const auto& [node, how] : parts_.store.attached(id))
        entry->mutable_status()->add_published_node_ids(node);
    }
    if (begin + count < static_cast<int>(ids.size()))
      answer->set_next_token(std::to_string(begin + count));
    return Status::OK;
  });
}

Status ControllerService::ControllerGetCapabilities(
    Context* context,
    const proto::ControllerGetCapabilitiesRequest*,
    proto::ControllerGetCapabilitiesResponse* answer) {
  using Rpc = proto::ControllerServiceCapability::RPC;
  return parts_.manners.call("ControllerGetCapabilities", "", over(context), [&] {
    for (const auto type : {Rpc::CREATE_DELETE_VOLUME, Rpc::LIST_VOLUMES,
                            Rpc::CREATE_DELETE_SNAPSHOT, Rpc::LIST_SNAPSHOTS, Rpc::CLONE_VOLUME,
                            Rpc::EXPAND_VOLUME, Rpc::LIST_VOLUMES_PUBLISHED_NODES})
      answer->add_capabilities()->mutable_rpc()->set_type(type);
    if (parts_.options.attaches)
      answer->add_capabilities()->mutable_rpc()->set_type(Rpc::PUBLISH_UNPUBLISH_VOLUME);
    return Status::OK;
  });
}

Status ControllerService::snapshot(const proto::CreateSnapshotRequest& request,
                                   proto::Snapshot& made) const {
  if (request.name().empty()) return {StatusCode::INVALID_ARGUMENT, "a snapshot needs a name"};
  const auto volume = parts_.store.read(Kind::volumes, request.source_volume_id());
  if (!volume) return no_volume(request.source_volume_id());
  const auto id = Store::id_of(request.name());
  auto known = parts_.store.read(Kind::snapshots, id);
  if (known && known->at("source") != request.source_volume_id())
    return {StatusCode::ALREADY_EXISTS, "it is a snapshot of another volume"};
  if (!known) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    known = About{
        {"source", request.source_volume_id()},
        {"size", volume->at("capacity")},
        {"time", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count())}};
    parts_.store.make(Kind::snapshots, id, *known,
                      parts_.store.data(Kind::volumes, request.source_volume_id()));
  }
  describe_snapshot(id, *known, made);
  return Status::OK;
}

Status ControllerService::CreateSnapshot(Context* context,
                                         const proto::CreateSnapshotRequest* request,
                                         proto::CreateSnapshotResponse* answer) {
  return parts_.manners.call("CreateSnapshot", request->source_volume_id(), over(context),
                             [&] { return snapshot(*request, *answer->mutable_snapshot()); });
}

Status ControllerService::DeleteSnapshot(Context* context,
                                         const proto::DeleteSnapshotRequest* request,
                                         proto::DeleteSnapshotResponse*) {
  return parts_.manners.call("DeleteSnapshot", request->snapshot_id(), over(context), [&] {
    if (parts_.store.read(Kind::snapshots, request->snapshot_id()))
      parts_.store.remove(Kind::snapshots, request->snapshot_id());
    return Status::OK;
  });
}

Status ControllerService::ListSnapshots(Context* context,
                                        const proto::ListSnapshotsRequest* request,
                                        proto::ListSnapshotsResponse* answer) {
  return parts_.manners.call("ListSnapshots", request->starting_token(), over(context), [&] {
    std::vector<std::pair<std::string, About>> found;
    for (const auto& id : parts_.store.list(Kind::snapshots)) {
      const auto about = *parts_.store.read(Kind::snapshots, id);
      if (!request->snapshot_id().empty() && id != request->snapshot_id()) continue;
      if (!request->source_volume_id().empty() && about.at("source") != request->source_volume_id())
        continue;
      found.emplace_back(id, about);
    }
    const auto [begin, count]
        = page(request->starting_token(), request->max_entries(), found.size());
    if (begin < 0) return Status{StatusCode::ABORTED, "there is no such page"};
    for (int at = begin; at < begin + count; ++at) {
      const auto& [id, about] = found[static_cast<std::size_t>(at)];
      describe_snapshot(id, about, *answer->add_entries()->mutable_snapshot());
    }
    if (begin + count < static_cast<int>(found.size()))
      answer->set_next_token(std::to_string(begin + count));
    return Status::OK;
  });
}

Status ControllerService::ControllerExpandVolume(
    Context* context,
    const proto::ControllerExpandVolumeRequest* request,
    proto::ControllerExpandVolumeResponse* answer) {
  return parts_.manners.call("ControllerExpandVolume", request->volume_id(), over(context), [&] {
    auto about = parts_.store.read(Kind::volumes, request->volume_id());
    if (!about) return no_volume(request->volume_id());
    const auto capacity = std::max<long long>(number(*about, "capacity"),
                                              request->capacity_range().required_bytes());
    (*about)["capacity"] = std::to_string(capacity);
    parts_.store.write(Kind::volumes, request->volume_id(), *about);
    answer->set_capacity_bytes(capacity);
    answer->set_node_expansion_required(true);
    return Status::OK;
  });
}

}  // namespace nomad::csi::sample
