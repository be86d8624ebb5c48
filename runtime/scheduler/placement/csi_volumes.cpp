#include "runtime/scheduler/placement/csi_volumes.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/scheduler/placement/rules.hpp"
#include "runtime/state/volumes/claims.hpp"

namespace nomad::scheduler {
namespace {

using state::ClaimAnswer;

/// The claim that an allocation of the group would take.
void fill_claim(schema::CsiClaim::Builder claim,
                const VolumeSpec& wanted,
                std::string_view alloc_id,
                std::string_view node_id) {
  claim.setAllocId(std::string{alloc_id});
  claim.setNodeId(std::string{node_id});
  claim.setMode(wanted.read_only ? schema::CsiClaimMode::READ : schema::CsiClaimMode::WRITE);
  claim.setAccessMode(wanted.access_mode);
  claim.setAttachmentMode(wanted.attachment_mode);
}

bool has_segments(capnp::List<schema::TextEntry>::Reader wanted,
                  capnp::List<schema::TextEntry>::Reader node) {
  for (const auto segment : wanted)
    if (find_text(node, view(segment.getKey())) != view(segment.getValue())) return false;
  return true;
}

/// Whether the volume can be reached from where the node is.
bool suits_topology(schema::CsiVolume::Reader volume, schema::CsiNodeInfo::Reader node) {
  const auto topologies = volume.getTopologies();
  if (topologies.size() == 0) return true;
  for (const auto topology : topologies)
    if (has_segments(topology.getSegments(), node.getAccessibleTopology().getSegments()))
      return true;
  return false;
}

std::string about_plugin(std::string_view plugin, std::string_view what, std::string_view node) {
  std::string text{"CSI plugin "};
  return text.append(plugin).append(what).append(" client ").append(node);
}

std::string about_volume(std::string_view id, std::string_view what) {
  std::string text{"CSI volume "};
  return text.append(id).append(what);
}

const VolumeSpec* find_wanted(const GroupSpec& group,
                              std::string_view alloc_name,
                              std::string_view id) {
  for (const auto& wanted : group.csi_volumes)
    if (source_of(wanted, alloc_name) == id) return &wanted;
  return nullptr;
}

}  // namespace

const CsiVolumes::Known& CsiVolumes::find(std::string_view id) {
  const auto ns = view(job_.reader().getNamespace());
  const auto key = state::join_key(ns, id);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  Known known;
  known.volume = state_.csi_volume(ns, id);
  if (known.volume) {
    const auto plugin = state::find_csi_plugin(state_, view(known.volume->getPluginId()));
    known.schedulable = state::is_schedulable(*known.volume, plugin ? &*plugin : nullptr);
  }
  return known_.emplace(key, std::move(known)).first->second;
}

std::string CsiVolumes::missing(const GroupSpec& group,
                                schema::Node::Reader node,
                                std::string_view alloc_name) {
  std::set<std::string> ids;
  for (const auto& wanted : group.csi_volumes)
    ids.insert(source_of(wanted, alloc_name));
  for (const auto& wanted : group.csi_volumes) {
    const auto id = source_of(wanted, alloc_name);
    const auto& known = find(id);
    if (!known.volume) return missing_csi_volume(wanted, alloc_name);
    if (auto reason = missing_plugin(known, node, ids); !reason.empty()) return reason;
    if (auto reason = missing_claim(known, wanted, node); !reason.empty()) return reason;
  }
  return {};
}

/// `wanted` are the ids of all volumes that the allocation asks for.
std::string CsiVolumes::missing_plugin(const Known& known,
                                       schema::Node::Reader node,
                                       const std::set<std::string>& wanted) {
  const auto id = view(known.volume->getPluginId());
  const auto name = view(node.getId());
  const auto plugin = state::csi_node_plugin(node, id);
  if (!plugin) return about_plugin(id, " is missing from", name);
  if (!plugin->getHealthy()) return about_plugin(id, " is unhealthy on", name);
  const auto info = plugin->getNodeInfo();
  if (info.getMaxVolumes() > 0) {
    auto used = used_of(id, node);
    for (const auto& other : wanted)
      if (const auto& volume = find(other).volume;
          volume && volume->getPluginId() == known.volume->getPluginId())
        used.insert(state::kind::CsiVolumes::key(*volume));
    if (used.size() > static_cast<std::uint64_t>(info.getMaxVolumes()))
      return about_plugin(id, " has the maximum number of volumes on", name);
  }
  if (!suits_topology(*known.volume, info)) return "did not meet topology requirement";
  return {};
}

std::string CsiVolumes::missing_claim(const Known& known,
                                      const VolumeSpec& wanted,
                                      schema::Node::Reader node) {
  const auto id = view(known.volume->getId());
  Draft<schema::CsiClaim> claim;
  fill_claim(*claim, wanted, "", view(node.getId()));
  const auto ns = view(job_.reader().getNamespace());
  const auto job = view(job_.reader().getId());
  // The job's own are looked at as allocations: it may take over from those that it ends.
  const auto counts = [&](schema::CsiClaim::Reader other) {
    const auto alloc = state_.alloc(view(other.getAllocId()));
    return !alloc || alloc->alloc->ns() != ns || alloc->alloc->job_id() != job;
  };
  const auto answer = known.schedulable ? state::judge_claim(*known.volume, claim.reader(), counts)
                                        : ClaimAnswer::not_offered;
  const bool is_taken = answer == ClaimAnswer::free ? is_taken_by_plan(known, claim.reader())
                                                    : answer != ClaimAnswer::not_offered;
  if (answer == ClaimAnswer::free && !is_taken) return {};
  if (wanted.read_only)
    return about_volume(id, " is unschedulable or has exhausted its available reader claims");
  if (is_taken) return about_volume(id, " has exhausted its available writer claims");
  return about_volume(id, " is unschedulable or is read-only");
}

/// Whether allocations of the job that go on, or that the plan has placed, leave no room for the
/// claim: they have theirs, or are about to take it.
bool CsiVolumes::is_taken_by_plan(const Known& known, schema::CsiClaim::Reader claim) {
  const auto id = view(known.volume->getId());
  Draft<schema::CsiVolume> alone{known.volume};
  std::vector<const VolumeSpec*> specs;
  std::vector<AllocView> holders;
  std::set<std::string_view> seen;
  const auto add = [&](AllocView alloc) {
    const auto* group = job_.find(alloc.task_group());
    const auto* wanted = group != nullptr ? find_wanted(*group, alloc.name(), id) : nullptr;
    if (wanted == nullptr || !seen.insert(alloc.id()).second) return;
    specs.push_back(wanted);
    holders.push_back(alloc);
  };
  for (const auto& placed : proposal_.placed())
    add(*placed);
  for (const auto& row : job_allocs_)
    if (!row->terminal() && !proposal_.has_freed(row->alloc->id())) add(*row->alloc);
  auto claims = alone->initClaims(static_cast<unsigned>(holders.size()));
  for (unsigned i = 0; i < claims.size(); ++i)
    fill_claim(claims[i], *specs[i], holders[i].id(), holders[i].node_id());
  return state::judge_claim(alone.reader(), claim, [](const auto) { return true; })
         != ClaimAnswer::free;
}

/// The plugin's volumes that allocations of the node use, or are about to, as the plan leaves it.
std::set<std::string> CsiVolumes::used_of(std::string_view plugin, schema::Node::Reader node) {
  std::set<std::string> ids;
  for (const auto& row : proposal_.allocs_on(view(node.getId()))) {
    if (row->server_terminal || !row->job) continue;
    for (const auto group : row->job->getTaskGroups())
      if (view(group.getName()) == row->alloc->task_group())
        add_used(row->alloc->ns(), group, row->alloc->name(), plugin, ids);
  }
  for (const auto& placed : proposal_.placed()) {
    if (placed->node_id() != view(node.getId())) continue;
    if (const auto* group = job_.find(placed->task_group()))
      add_used(placed->ns(), group->group, placed->name(), plugin, ids);
  }
  return ids;
}

void CsiVolumes::add_used(std::string_view ns,
                          schema::TaskGroup::Reader group,
                          std::string_view alloc_name,
                          std::string_view plugin,
                          std::set<std::string>& ids) {
  for (const auto entry : group.getVolumes()) {
    const auto wanted = entry.getValue();
    if (view(wanted.getType()) != "csi") continue;
    const VolumeSpec spec{.source = view(wanted.getSource()), .per_alloc = wanted.getPerAlloc()};
    const auto volume = state_.csi_volume(ns, source_of(spec, alloc_name));
    if (volume && view(volume->getPluginId()) == plugin)
      ids.insert(state::kind::CsiVolumes::key(*volume));
  }
}

}  // namespace nomad::scheduler
