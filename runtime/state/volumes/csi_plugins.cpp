#include "runtime/state/volumes/csi_plugins.hpp"

#include <algorithm>

#include "runtime/object/entries.hpp"

namespace nomad::state {
namespace {

void note_indexes(CsiPlugin& plugin, Index created, Index modified) {
  plugin.create_index = plugin.create_index == 0 ? created : std::min(plugin.create_index, created);
  plugin.modify_index = std::max(plugin.modify_index, modified);
}

/// What one of a node's lists says of the plugin.
template <class Entries>
void add_instance(CsiPlugin& plugin,
                  const Object<schema::Node>& node,
                  const Entries& entries,
                  std::vector<CsiPlugin::Instance>& instances,
                  std::int64_t& healthy) {
  const auto position = find_entry(entries, plugin.id);
  if (!position) return;
  const auto info = entries[*position].getValue();
  if (plugin.provider.empty()) {
    plugin.provider = copy(info.getProvider());
    plugin.version = copy(info.getProviderVersion());
  }
  if (info.getHealthy()) ++healthy;
  instances.push_back({node, info});
}

/// How many instances a group of a job is to bring.
std::int64_t expected_of(const Snapshot& snapshot,
                         schema::Job::Reader job,
                         schema::TaskGroup::Reader group) {
  const auto type = view(job.getType());
  if (type != "system" && type != "sysbatch") return group.getCount();
  const auto summary = snapshot.job_summary(view(job.getNamespace()), view(job.getId()));
  if (!summary) return 0;
  const auto position = find_entry(summary->getSummary(), view(group.getName()));
  if (!position) return 0;
  const auto counts = summary->getSummary()[*position].getValue();
  return counts.getRunning() + counts.getQueued() + counts.getStarting();
}

void expect(const Snapshot& snapshot, schema::Job::Reader job, CsiPlugin& plugin) {
  note_indexes(plugin, job.getCreateIndex(), job.getModifyIndex());
  if (job.getStop()) return;
  for (const auto group : job.getTaskGroups())
    for (const auto task : group.getTasks()) {
      if (!task.hasCsiPluginConfig()
          || view(task.getCsiPluginConfig().getId()) != std::string_view{plugin.id})
        continue;
      const auto type = view(task.getCsiPluginConfig().getType());
      const auto expected = expected_of(snapshot, job, group);
      if (type != "node") plugin.controllers_expected += expected;
      if (type != "controller") plugin.nodes_expected += expected;
    }
}

bool requires_controller(const CsiPlugin& plugin) {
  const auto says_so
      = [](const CsiPlugin::Instance& one) { return one.info.getRequiresControllerPlugin(); };
  if (std::ranges::any_of(plugin.controllers, says_so)) return true;
  return plugin.controllers_expected > 0 && std::ranges::any_of(plugin.nodes, says_so);
}

}  // namespace

std::optional<CsiPlugin> find_csi_plugin(const Snapshot& snapshot, std::string_view id) {
  CsiPlugin plugin;
  plugin.id = id;
  for (const auto& node : snapshot.nodes_of_csi_plugin(id)) {
    note_indexes(plugin, node->getCreateIndex(), node->getModifyIndex());
    if (node->getStatus() == schema::NodeStatus::DOWN) continue;
    add_instance(plugin, node, node->getCsiControllerPlugins(), plugin.controllers,
                 plugin.controllers_healthy);
    add_instance(plugin, node, node->getCsiNodePlugins(), plugin.nodes, plugin.nodes_healthy);
  }
  for (const auto& job : snapshot.jobs_of_csi_plugin(id))
    expect(snapshot, *job, plugin);
  for (const auto& volume : snapshot.csi_volumes_of_plugin(id))
    note_indexes(plugin, volume->getCreateIndex(), volume->getCreateIndex());
  if (plugin.modify_index == 0) return std::nullopt;
  plugin.controller_required = requires_controller(plugin);
  return plugin;
}

bool needs_controller(schema::CsiVolume::Reader volume, const CsiPlugin* plugin) {
  return volume.getControllerRequired() || (plugin != nullptr && plugin->controller_required);
}

bool is_attached(schema::CsiVolume::Reader volume, const CsiPlugin* plugin) {
  if (!needs_controller(volume, plugin)) return false;
  if (plugin == nullptr || plugin->controllers.empty()) return true;
  return std::ranges::any_of(plugin->controllers, [](const CsiPlugin::Instance& one) {
    return one.info.getControllerInfo().getSupportsAttachDetach();
  });
}

bool is_schedulable(schema::CsiVolume::Reader volume, const CsiPlugin* plugin) {
  if (plugin == nullptr || plugin->nodes_healthy == 0) return false;
  return !needs_controller(volume, plugin) || plugin->controllers_healthy > 0;
}

std::optional<schema::CsiInfo::Reader> csi_node_plugin(schema::Node::Reader node,
                                                       std::string_view id) {
  const auto position = find_entry(node.getCsiNodePlugins(), id);
  if (!position) return std::nullopt;
  return node.getCsiNodePlugins()[*position].getValue();
}

}  // namespace nomad::state
