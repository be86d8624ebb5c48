#include "runtime/state/kinds/csi_kinds.hpp"

#include <set>

#include <capnp/any.h>

#include "runtime/state/kinds/count_seals.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {
namespace {

using Names = std::set<std::string, std::less<>>;
using Infos = capnp::List<schema::CsiInfoEntry>::Reader;

bool is_same(Infos one, Infos other) {
  if (one.size() != other.size()) return false;
  for (unsigned i = 0; i < one.size(); ++i)
    if (capnp::AnyStruct::Reader{one[i]} != capnp::AnyStruct::Reader{other[i]}) return false;
  return true;
}

/// Whether all that plugins are derived from is as before.
bool is_same(schema::Node::Reader one, schema::Node::Reader other) {
  return one.getStatus() == other.getStatus()
         && one.getSchedulingEligibility() == other.getSchedulingEligibility()
         && is_same(one.getCsiControllerPlugins(), other.getCsiControllerPlugins())
         && is_same(one.getCsiNodePlugins(), other.getCsiNodePlugins());
}

Names plugins_of(const Object<schema::Node>& node) {
  Names names;
  if (!node) return names;
  for (const auto entry : node->getCsiControllerPlugins())
    names.insert(copy(entry.getKey()));
  for (const auto entry : node->getCsiNodePlugins())
    names.insert(copy(entry.getKey()));
  return names;
}

Names plugins_of(const Object<schema::Job>& job) {
  Names names;
  if (!job) return names;
  for (const auto group : job->getTaskGroups())
    for (const auto task : group.getTasks())
      if (task.hasCsiPluginConfig()) names.insert(copy(task.getCsiPluginConfig().getId()));
  return names;
}

/// Moves `owner` among those who name plugins.
void rename(Tables& tables,
            PersistentMap<Nothing>& map,
            const std::string& owner,
            const Names& before,
            const Names& after,
            const Derivation& how) {
  const auto note = [&](const std::string& plugin) {
    tables.csi_plugins_index = how.index;
    how.changed(Table::csi_plugins, plugin);
  };
  for (const auto& plugin : before) {
    if (after.contains(plugin)) continue;
    map.erase(join_key(plugin, owner));
    note(plugin);
  }
  for (const auto& plugin : after) {
    if (!before.contains(plugin)) map.insert_or_assign(join_key(plugin, owner), Nothing{});
    note(plugin);
  }
}

}  // namespace

void derive_plugins_of_node(Tables& tables,
                            const Object<schema::Node>& before,
                            const Object<schema::Node>& after,
                            const Derivation& how) {
  const auto has_none = [](const Object<schema::Node>& node) {
    return !node
           || (node->getCsiControllerPlugins().size() == 0
               && node->getCsiNodePlugins().size() == 0);
  };
  if (has_none(before) && has_none(after)) return;
  if (before && after && is_same(*before, *after)) return;
  rename(tables, tables.csi_plugin_nodes, copy((after ? *after : *before).getId()),
         plugins_of(before), plugins_of(after), how);
}

void derive_plugins_of_job(Tables& tables,
                           const Object<schema::Job>& before,
                           const Object<schema::Job>& after,
                           const Derivation& how) {
  const auto from = plugins_of(before);
  const auto to = plugins_of(after);
  if (from.empty() && to.empty()) return;
  rename(tables, tables.csi_plugin_jobs, kind::Jobs::key(after ? *after : *before), from, to, how);
}

namespace kind {

void Nodes::derive(Tables& tables,
                   const Object<Type>& before,
                   const Object<Type>& after,
                   const Derivation& how) {
  derive_plugins_of_node(tables, before, after, how);
}

void CsiVolumes::derive(Tables& tables,
                        const Object<Type>& before,
                        const Object<Type>& after,
                        const Derivation& how) {
  count_seals(tables, before, after);
  tables.csi_plugins_index = how.index;
}

Object<schema::CsiVolume> CsiVolumes::shown(const Object<Type>& volume) {
  if (volume->getMountOptions().getMountFlags().size() == 0) return volume;
  Draft<Type> draft{volume};
  draft->getMountOptions().initMountFlags(1).set(0, text(redacted_flag));
  return draft.freeze();
}

}  // namespace kind

}  // namespace nomad::state
