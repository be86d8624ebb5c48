#include "actors/client/volumes/csi_objects.hpp"

#include <limits>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/enum_name.hpp"

namespace nomad::client {

namespace {

using workload::VolumeRow;

constexpr std::uint8_t csi_modes[] = {0, 2, 1, 3, 4, 5};  ///< By our number.

template <class Name, std::size_t size>
Name at_or_first(const Name (&names)[size], std::size_t number) {
  return names[number < size ? number : 0];
}

/// `init` makes the list of so many.
template <class List, class Init>
void copy_entries(const List& from, const Init& init) {
  if (from.size() == 0) return;
  auto to = init(from.size());
  for (unsigned i = 0; i < from.size(); ++i) {
    to[i].setKey(from[i].getKey());
    to[i].setValue(from[i].getValue());
  }
}

void copy_map(const std::map<std::string, std::string>& from,
              capnp::List<schema::TextEntry>::Builder to) {
  fill_entries(to, from);
}

void put_capability(schema::csi::Capability::Builder to,
                    std::uint8_t access,
                    bool is_block,
                    const VolumeMountOptions& options) {
  to.setAccessMode(access);
  to.setBlock(is_block);
  if (is_block) return;
  to.setFsType(text(options.fs_type));
  auto flags = to.initMountFlags(static_cast<unsigned>(options.flags.size()));
  for (unsigned i = 0; i < flags.size(); ++i)
    flags.set(i, text(options.flags[i]));
}

bool is_block(schema::CsiAttachmentMode mode) {
  return mode == schema::CsiAttachmentMode::BLOCK_DEVICE;
}

template <class Call>
void put_capabilities(schema::csi::Call::Builder to, const Call& from) {
  const auto options = mount_options_of(from.getMountOptions());
  const auto all = from.getCapabilities();
  auto capabilities = to.initCapabilities(all.size());
  for (unsigned i = 0; i < all.size(); ++i)
    put_capability(capabilities[i], csi_access_mode(all[i].getAccessMode()),
                   is_block(all[i].getAttachmentMode()), options);
}

template <class Call>
void put_one(schema::csi::Call::Builder to, const Call& from) {
  const auto one = from.getCapability();
  put_capability(to.initCapabilities(1)[0], csi_access_mode(one.getAccessMode()),
                 is_block(one.getAttachmentMode()), mount_options_of(from.getMountOptions()));
}

void put_capability_of(schema::csi::Call::Builder to,
                       const VolumeRow& row,
                       const VolumeMountOptions& options) {
  put_capability(to.initCapabilities(1)[0],
                 csi_access_mode(static_cast<schema::CsiAccessMode>(row.spec.access_mode)),
                 is_block(static_cast<schema::CsiAttachmentMode>(row.spec.attachment_mode)),
                 options);
}

void put_claimed(schema::csi::Call::Builder call, const ClaimedVolume& claimed) {
  copy_entries(claimed.volume->getContext(),
               [&call](unsigned size) { return call.initVolumeContext(size); });
  if (claimed.reply && claimed.reply->isClaimedVolume())
    copy_entries(claimed.reply->getClaimedVolume().getPublishContext(),
                 [&call](unsigned size) { return call.initPublishContext(size); });
  if (claimed.secrets)
    copy_entries(claimed.secrets->getEntries(),
                 [&call](unsigned size) { return call.initSecrets(size); });
}

void put_topologies(capnp::List<schema::CsiTopology>::Reader from,
                    capnp::List<schema::csi::Topology>::Builder to) {
  for (unsigned i = 0; i < from.size(); ++i)
    copy_entries(from[i].getSegments(), [&](unsigned size) { return to[i].initSegments(size); });
}

void put_create(schema::csi::Call::Builder to, schema::door::CsiCreate::Reader from) {
  to.setName(from.getName());
  to.setRequiredBytes(from.getCapacityMin());
  to.setLimitBytes(from.getCapacityMax());
  put_capabilities(to, from);
  copy_entries(from.getParameters(), [&to](unsigned size) { return to.initParameters(size); });
  to.setSourceSnapshot(from.getSnapshotId());
  to.setSourceVolume(from.getCloneId());
  const auto wanted = from.getTopologies();
  put_topologies(wanted.getRequired(), to.initRequisite(wanted.getRequired().size()));
  put_topologies(wanted.getPreferred(), to.initPreferred(wanted.getPreferred().size()));
}

void write_created(schema::csi::Volume::Reader from, schema::door::CsiCreated::Builder to) {
  to.setExternalId(from.getId());
  to.setCapacity(from.getCapacityBytes());
  copy_entries(from.getContext(), [&to](unsigned size) { return to.initContext(size); });
  auto topologies = to.initTopologies(from.getTopologies().size());
  for (unsigned i = 0; i < topologies.size(); ++i)
    copy_entries(from.getTopologies()[i].getSegments(),
                 [&](unsigned size) { return topologies[i].initSegments(size); });
  to.setSnapshotId(from.getSourceSnapshot());
  to.setCloneId(from.getSourceVolume());
}

void write_volumes(schema::csi::Answer::Reader from, schema::door::CsiVolumesPage::Builder to) {
  to.setNextToken(from.getNextToken());
  auto volumes = to.initVolumes(from.getVolumes().size());
  for (unsigned i = 0; i < volumes.size(); ++i) {
    const auto one = from.getVolumes()[i];
    auto volume = volumes[i];
    volume.setExternalId(one.getId());
    volume.setCapacityBytes(one.getCapacityBytes());
    copy_entries(one.getContext(), [&](unsigned size) { return volume.initVolumeContext(size); });
    volume.setCloneId(one.getSourceVolume());
    volume.setSnapshotId(one.getSourceSnapshot());
    volume.setPublishedExternalNodeIds(one.getPublishedNodes());
    volume.setIsAbnormal(one.getAbnormal());
    volume.setStatus(one.getCondition());
  }
}

void write_snapshots(schema::csi::Answer::Reader from, schema::door::CsiSnapshotsPage::Builder to) {
  to.setNextToken(from.getNextToken());
  auto snapshots = to.initSnapshots(from.getSnapshots().size());
  for (unsigned i = 0; i < snapshots.size(); ++i) {
    const auto one = from.getSnapshots()[i];
    snapshots[i].setId(one.getId());
    snapshots[i].setExternalSourceVolumeId(one.getSourceVolume());
    snapshots[i].setSizeBytes(one.getSizeBytes());
    snapshots[i].setCreateTime(one.getCreateTime());
    snapshots[i].setIsReady(one.getIsReady());
  }
}

/// A plugin may confirm less than what it was asked, or something else.
Result<> check_confirmed(schema::door::CsiValidate::Reader asked,
                         schema::csi::Answer::Reader from) {
  if (!from.getIsConfirmed()) {
    const auto why = copy(from.getMessage());
    return Error{Errc::rejected,
                 fmt::format("volume is not compatible with the volume capabilities{}{}",
                             why.empty() ? "" : ": ", why)};
  }
  if (from.getConfirmed().size() == 0) return {};  // all of them
  for (const auto wanted : asked.getCapabilities()) {
    const auto mode = csi_access_mode(wanted.getAccessMode());
    bool is_there = false;
    for (const auto one : from.getConfirmed())
      is_there = is_there
                 || (one.getAccessMode() == mode
                     && one.getBlock() == is_block(wanted.getAttachmentMode()));
    if (!is_there)
      return Error{
          Errc::rejected,
          fmt::format("volume capability validation failed: requested {} was not "
                      "confirmed by the plugin",
                      usage_of(false, wanted.getAttachmentMode(), wanted.getAccessMode()))};
  }
  return {};
}

void write_controller(std::uint64_t can, schema::CsiControllerInfo::Builder to) {
  const auto has = [can](unsigned number) { return ((can >> number) & 1U) != 0; };
  to.setSupportsCreateDelete(has(1));
  to.setSupportsAttachDetach(has(2));
  to.setSupportsListVolumes(has(3));
  to.setSupportsGetCapacity(has(4));
  to.setSupportsCreateDeleteSnapshot(has(5));
  to.setSupportsListSnapshots(has(6));
  to.setSupportsClone(has(7));
  to.setSupportsReadOnlyAttach(has(8));
  to.setSupportsExpand(has(9));
  to.setSupportsListVolumesAttachedNodes(has(10));
  to.setSupportsCondition(has(11));
  to.setSupportsGet(has(12));
}

void write_node(const workload::PluginFacts& facts, schema::CsiNodeInfo::Builder to) {
  const auto has
      = [&facts](unsigned number) { return ((facts.node_capabilities >> number) & 1U) != 0; };
  to.setId(text(facts.node_id));
  to.setMaxVolumes(facts.max_volumes > 0 ? facts.max_volumes
                                         : std::numeric_limits<std::int64_t>::max());
  if (!facts.topology.empty())
    copy_map(facts.topology, to.initAccessibleTopology().initSegments(
                                 static_cast<unsigned>(facts.topology.size())));
  to.setRequiresNodeStageVolume(has(1));
  to.setSupportsStats(has(2));
  to.setSupportsExpand(has(3));
  to.setSupportsCondition(has(4));
}

void write_info(const workload::PluginStanding& from,
                std::int64_t since,
                schema::CsiInfo::Builder to) {
  to.setPluginId(text(from.plugin.id));
  to.setAllocId(text(from.plugin.alloc));
  to.setHealthy(from.healthy);
  to.setHealthDescription(text(from.description));
  to.setUpdateTime(since);
  to.setProvider(text(from.facts.provider));
  to.setProviderVersion(text(from.facts.version));
  to.setRequiresControllerPlugin(from.facts.has_controller_service());
  to.setRequiresTopologies(from.facts.has_topologies());
}

std::int64_t since_when(const CsiStandings& standings, const std::string& key) {
  const auto found = standings.since.find(key);
  return found == standings.since.end() ? standings.changed_at : found->second;
}

}  // namespace

VolumeMountOptions mount_options_of(schema::MountOptions::Reader from) {
  return {copy(from.getFsType()), texts_of(from.getMountFlags())};
}

VolumeMountOptions merged(VolumeMountOptions over, schema::MountOptions::Reader volume) {
  if (over.fs_type.empty()) over.fs_type = copy(volume.getFsType());
  if (over.flags.empty()) over.flags = texts_of(volume.getMountFlags());
  return over;
}

std::string usage_of(bool reads,
                     schema::CsiAttachmentMode attachment,
                     schema::CsiAccessMode access) {
  return fmt::format("{}-{}-{}", reads ? "ro" : "rw", enum_name(attachment), enum_name(access));
}

std::uint8_t csi_access_mode(schema::CsiAccessMode mode) {
  return at_or_first(csi_modes, static_cast<std::size_t>(mode));
}

// -- node plugins --------------------------------------------------------------------------------

void fill_stage(schema::csi::Call::Builder call,
                const VolumeRow& row,
                const std::string& base,
                const ClaimedVolume& claimed) {
  call.setVolumeId(text(row.external));
  call.setStagingPath(text(base + '/' + staging_path(row)));
  put_capability_of(call, row, claimed.options);
  put_claimed(call, claimed);
}

void fill_publish(schema::csi::Call::Builder call,
                  const VolumeRow& row,
                  const std::string& base,
                  const ClaimedVolume& claimed) {
  call.setVolumeId(text(row.external));
  if (row.stages) call.setStagingPath(text(base + '/' + staging_path(row)));
  call.setTargetPath(text(base + '/' + target_path(row)));
  call.setReadOnly(row.spec.mode == static_cast<std::uint8_t>(schema::CsiClaimMode::READ));
  put_capability_of(call, row, claimed.options);
  put_claimed(call, claimed);
}

void fill_unpublish(schema::csi::Call::Builder call,
                    const VolumeRow& row,
                    const std::string& base) {
  call.setVolumeId(text(row.external));
  call.setTargetPath(text(base + '/' + target_path(row)));
}

void fill_unstage(schema::csi::Call::Builder call, const VolumeRow& row, const std::string& base) {
  call.setVolumeId(text(row.external));
  call.setStagingPath(text(base + '/' + staging_path(row)));
}

void fill_expand(schema::csi::Call::Builder to,
                 schema::door::CsiExpand::Reader from,
                 const VolumeRow& row,
                 const std::string& base,
                 capnp::List<schema::SecretEntry>::Reader secrets) {
  to.setVolumeId(text(row.external));
  to.setTargetPath(text(base + '/' + target_path(row)));
  if (row.stages) to.setStagingPath(text(base + '/' + staging_path(row)));
  to.setRequiredBytes(from.getCapacityMin());
  to.setLimitBytes(from.getCapacityMax());
  put_one(to, from);
  copy_entries(secrets, [&to](unsigned size) { return to.initSecrets(size); });
}

// -- controllers ---------------------------------------------------------------------------------

ControllerQuestion question_of(schema::door::CsiControllerCall::Reader call) {
  using Kind = schema::door::CsiControllerCall;
  using Method = schema::csi::Method;
  switch (call.which()) {
    case Kind::VALIDATE:
      return {Method::VALIDATE_VOLUME_CAPABILITIES, "ControllerValidateVolume",
              copy(call.getValidate().getExternalId())};
    case Kind::CREATE:
      return {Method::CREATE_VOLUME, "ControllerCreateVolume", copy(call.getCreate().getName())};
    case Kind::DELETE:
      return {Method::DELETE_VOLUME, "ControllerDeleteVolume", copy(call.getDelete())};
    case Kind::ATTACH:
      return {Method::CONTROLLER_PUBLISH_VOLUME, "ControllerAttachVolume",
              copy(call.getAttach().getExternalId())};
    case Kind::DETACH:
      return {Method::CONTROLLER_UNPUBLISH_VOLUME, "ControllerDetachVolume",
              copy(call.getDetach().getExternalId())};
    case Kind::EXPAND:
      return {Method::CONTROLLER_EXPAND_VOLUME, "ControllerExpandVolume",
              copy(call.getExpand().getExternalId())};
    case Kind::LIST_VOLUMES:
      return {Method::LIST_VOLUMES, "ControllerListVolumes",
              copy(call.getListVolumes().getStartingToken())};
    case Kind::CREATE_SNAPSHOT:
      return {Method::CREATE_SNAPSHOT, "ControllerCreateSnapshot",
              copy(call.getCreateSnapshot().getExternalId())};
    case Kind::DELETE_SNAPSHOT:
      return {Method::DELETE_SNAPSHOT, "ControllerDeleteSnapshot", copy(call.getDeleteSnapshot())};
    case Kind::LIST_SNAPSHOTS:
      return {Method::LIST_SNAPSHOTS, "ControllerListSnapshots",
              copy(call.getListSnapshots().getStartingToken())};
  }
  return {Method::PROBE, "", ""};
}

void fill_controller(schema::csi::Call::Builder to, schema::door::CsiControllerCall::Reader from) {
  using Kind = schema::door::CsiControllerCall;
  copy_entries(from.getSecrets(), [&to](unsigned size) { return to.initSecrets(size); });
  switch (from.which()) {
    case Kind::VALIDATE: {
      const auto it = from.getValidate();
      to.setVolumeId(it.getExternalId());
      put_capabilities(to, it);
      copy_entries(it.getParameters(), [&to](unsigned size) { return to.initParameters(size); });
      copy_entries(it.getContext(), [&to](unsigned size) { return to.initVolumeContext(size); });
      return;
    }
    case Kind::CREATE:
      return put_create(to, from.getCreate());
    case Kind::DELETE:
      return to.setVolumeId(from.getDelete());
    case Kind::ATTACH: {
      const auto it = from.getAttach();
      to.setVolumeId(it.getExternalId());
      to.setNodeId(it.getExternalNodeId());
      to.setReadOnly(it.getReadOnly());
      put_one(to, it);
      copy_entries(it.getContext(), [&to](unsigned size) { return to.initVolumeContext(size); });
      return;
    }
    case Kind::DETACH:
      to.setVolumeId(from.getDetach().getExternalId());
      return to.setNodeId(from.getDetach().getExternalNodeId());
    case Kind::EXPAND: {
      const auto it = from.getExpand();
      to.setVolumeId(it.getExternalId());
      to.setRequiredBytes(it.getCapacityMin());
      to.setLimitBytes(it.getCapacityMax());
      return put_one(to, it);
    }
    case Kind::LIST_VOLUMES:
      to.setMaxEntries(from.getListVolumes().getMaxEntries());
      return to.setStartingToken(from.getListVolumes().getStartingToken());
    case Kind::CREATE_SNAPSHOT: {
      const auto it = from.getCreateSnapshot();
      to.setSourceVolume(it.getExternalId());
      to.setName(it.getName());
      copy_entries(it.getParameters(), [&to](unsigned size) { return to.initParameters(size); });
      return;
    }
    case Kind::DELETE_SNAPSHOT:
      return to.setSnapshotId(from.getDeleteSnapshot());
    case Kind::LIST_SNAPSHOTS:
      to.setMaxEntries(from.getListSnapshots().getMaxEntries());
      return to.setStartingToken(from.getListSnapshots().getStartingToken());
  }
}

Result<> write_result(schema::door::CsiControllerCall::Reader asked,
                      schema::csi::Answer::Reader from,
                      schema::door::CsiControllerResult::Builder to) {
  using Kind = schema::door::CsiControllerCall;
  switch (asked.which()) {
    case Kind::VALIDATE:
      NOMAD_TRY(check_confirmed(asked.getValidate(), from));
      to.setDone();
      return {};
    case Kind::CREATE:
      write_created(from.getVolumes()[0], to.initCreated());
      return {};
    case Kind::ATTACH:
      copy_entries(from.getPublishContext(),
                   [&to](unsigned size) { return to.initPublishContext(size); });
      if (from.getPublishContext().size() == 0) to.initPublishContext(0);
      return {};
    case Kind::EXPAND:
      to.initExpanded().setCapacity(from.getCapacityBytes());
      to.getExpanded().setOnNodes(from.getNodeExpansionRequired());
      return {};
    case Kind::LIST_VOLUMES:
      write_volumes(from, to.initVolumes());
      return {};
    case Kind::CREATE_SNAPSHOT:
    case Kind::LIST_SNAPSHOTS:
      write_snapshots(from, to.initSnapshots());
      return {};
    case Kind::DELETE:
    case Kind::DETACH:
    case Kind::DELETE_SNAPSHOT:
      to.setDone();
      return {};
  }
  return {};
}

// -- the node's record ---------------------------------------------------------------------------

void write_standings(const CsiStandings& from, schema::Node::Builder node) {
  unsigned at = 0;
  auto controllers = node.initCsiControllerPlugins(static_cast<unsigned>(from.controllers.size()));
  for (const auto& [id, standing] : from.controllers) {
    auto entry = controllers[at++];
    entry.setKey(text(id));
    auto info = entry.initValue();
    write_info(standing, since_when(from, "c/" + id), info);
    write_controller(standing.facts.controller_capabilities, info.initControllerInfo());
  }
  at = 0;
  auto nodes = node.initCsiNodePlugins(static_cast<unsigned>(from.nodes.size()));
  for (const auto& [id, standing] : from.nodes) {
    auto entry = nodes[at++];
    entry.setKey(text(id));
    auto info = entry.initValue();
    write_info(standing, since_when(from, "n/" + id), info);
    write_node(standing.facts, info.initNodeInfo());
  }
}

}  // namespace nomad::client
