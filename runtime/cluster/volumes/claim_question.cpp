#include "runtime/cluster/volumes/claim_question.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/state/volumes/claims.hpp"
#include "runtime/state/volumes/csi_plugins.hpp"

namespace nomad::cluster {
namespace {

/// "[3]" of "web.api[3]".
std::string_view index_of_name(std::string_view alloc_name) {
  const auto bracket = alloc_name.rfind('[');
  return bracket == std::string_view::npos ? std::string_view{} : alloc_name.substr(bracket);
}

/// Whether the allocation's group asks for the volume, to write to it if that is what is asked.
bool asks_for(const state::AllocRow& row, schema::door::VolumeClaim::Reader asked) {
  if (!row.job) return false;
  for (const auto group : row.job->getTaskGroups()) {
    if (view(group.getName()) != row.alloc->task_group()) continue;
    for (const auto entry : group.getVolumes()) {
      const auto volume = entry.getValue();
      if (view(volume.getType()) != "csi") continue;
      std::string id = copy(volume.getSource());
      if (volume.getPerAlloc()) id.append(index_of_name(row.alloc->name()));
      const bool writes = asked.getMode() == schema::CsiClaimMode::WRITE;
      if (id == view(asked.getVolumeId()) && !(writes && volume.getReadOnly())) return true;
    }
  }
  return false;
}

}  // namespace

Result<WantedClaim> judge_claim_question(const state::Snapshot& snapshot,
                                         std::string_view node_id,
                                         schema::door::VolumeClaim::Reader asked) {
  const auto alloc = snapshot.alloc(view(asked.getAllocId()));
  if (!alloc)
    return Error{Errc::not_found,
                 fmt::format("allocation \"{}\" is not known", view(asked.getAllocId()))};
  if (alloc->alloc->node_id() != node_id || !asks_for(*alloc, asked))
    return Error{Errc::permission_denied,
                 fmt::format("allocation \"{}\" has not asked for volume \"{}\" on this node",
                             view(asked.getAllocId()), view(asked.getVolumeId()))};
  const std::string ns{alloc->alloc->ns()};
  const auto volume = snapshot.csi_volume(ns, view(asked.getVolumeId()));
  if (!volume)
    return Error{Errc::not_found, fmt::format("volume not found: {}", view(asked.getVolumeId()))};
  const auto id = view(volume->getPluginId());
  const auto node = snapshot.node(node_id);
  const auto info = node ? state::csi_node_plugin(*node, id) : std::nullopt;
  if (!info || !info->getHealthy())
    return Error{Errc::unavailable, fmt::format("CSI plugin {} is {} client {}", id,
                                                info ? "unhealthy on" : "missing from", node_id)};
  const auto plugin = state::find_csi_plugin(snapshot, id);
  const bool needs = state::needs_controller(*volume, plugin ? &*plugin : nullptr);
  if (needs && (!plugin || plugin->controllers_healthy == 0))
    return Error{Errc::unavailable, fmt::format("no healthy controllers for CSI plugin: {}", id)};
  Draft<schema::CsiClaim> claim;
  claim->setAllocId(asked.getAllocId());
  claim->setNodeId(std::string{node_id});
  claim->setExternalNodeId(info->getNodeInfo().getId());
  claim->setMode(asked.getMode());
  claim->setAccessMode(asked.getAccessMode());
  claim->setAttachmentMode(asked.getAttachmentMode());
  return WantedClaim{.ns = ns,
                     .volume_id = copy(asked.getVolumeId()),
                     .claim = claim.freeze(),
                     .attaches = state::is_attached(*volume, plugin ? &*plugin : nullptr)};
}

bool has_claim(schema::CsiVolume::Reader volume, std::string_view alloc_id) {
  const auto claim = state::find_claim(volume, alloc_id);
  return claim && claim->getState() == schema::CsiClaimState::TAKEN;
}

std::optional<schema::CsiClaim::Reader> claim_of_node(schema::CsiVolume::Reader volume,
                                                      std::string_view alloc_id,
                                                      std::string_view node_id) {
  const auto claim = state::find_claim(volume, alloc_id);
  if (!claim || view(claim->getNodeId()) != node_id) return std::nullopt;
  return claim;
}

std::string external_node_id(const state::Snapshot& snapshot,
                             schema::CsiVolume::Reader volume,
                             schema::CsiClaim::Reader claim) {
  if (claim.getExternalNodeId().size() != 0) return copy(claim.getExternalNodeId());
  const auto node = snapshot.node(view(claim.getNodeId()));
  const auto info = node ? state::csi_node_plugin(*node, view(volume.getPluginId())) : std::nullopt;
  return info ? copy(info->getNodeInfo().getId()) : std::string{};
}

std::vector<std::string> healthy_controllers(const state::Snapshot& snapshot,
                                             std::string_view plugin) {
  std::vector<std::string> nodes;
  if (const auto found = state::find_csi_plugin(snapshot, plugin))
    for (const auto& one : found->controllers)
      if (one.info.getHealthy()) nodes.push_back(copy(one.node->getId()));
  return nodes;
}

}  // namespace nomad::cluster
