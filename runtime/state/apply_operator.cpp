// Namespaces, node pools, the scheduler's and autopilot's configuration.
#include "runtime/state/applier.hpp"

namespace nomad::state {

namespace {

bool is_built_in_pool(std::string_view name) {
  return name == "default" || name == "all";
}

template <class T>
Object<T> found_or_empty(const PersistentMap<Object<T>>& map, std::string_view key) {
  const auto* found = map.find(key);
  return found != nullptr ? *found : Object<T>{};
}

}  // namespace

/// With a ModifyIndex this is a check-and-set on the stored one's.
void Applier::scheduler_configuration(schema::SchedulerConfiguration::Reader configuration) {
  const auto& stored = t_.scheduler_config;
  const Index actual = stored ? stored->getModifyIndex() : 0;
  if (configuration.getModifyIndex() != 0 && configuration.getModifyIndex() != actual)
    return refuse(Errc::conflict,
                  "scheduler configuration has ModifyIndex " + std::to_string(actual));
  Draft<schema::SchedulerConfiguration> draft{configuration};
  draft->setCreateIndex(stored ? stored->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  t_.scheduler_config = draft.freeze();
  touch(Table::scheduler_config);
  changed(Table::scheduler_config, "");
}

void Applier::autopilot_update(schema::AutopilotUpdate::Reader command) {
  const auto& stored = t_.autopilot_config;
  const Index actual = stored ? stored->getModifyIndex() : 0;
  if (command.getCheck() && command.getConfiguration().getModifyIndex() != actual)
    return refuse(Errc::conflict,
                  "autopilot configuration has ModifyIndex " + std::to_string(actual));
  Draft<schema::AutopilotConfiguration> draft{command.getConfiguration()};
  draft->setCreateIndex(stored ? stored->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  t_.autopilot_config = draft.freeze();
  touch(Table::autopilot_config);
  changed(Table::autopilot_config, "");
}

void Applier::namespace_upsert(schema::Namespace::Reader ns) {
  const auto old = found_or_empty(t_.namespaces, view(ns.getName()));
  Draft<schema::Namespace> draft{ns};
  draft->setCreateIndex(old ? old->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  t_.namespaces.insert_or_assign(view(ns.getName()), draft.freeze());
  touch(Table::namespaces);
  changed(Table::namespaces, view(ns.getName()));
}

void Applier::namespace_delete(std::string_view name) {
  if (!t_.namespaces.contains(name)) return refuse(Errc::not_found, "namespace not found");
  if (name == "default") return refuse(Errc::rejected, "default namespace can not be deleted");
  for (const auto& entry : t_.jobs.prefix(join_key(name, "")))
    if (view(entry.value()->getStatus()) != "dead")
      return refuse(Errc::rejected,
                    "namespace \"" + std::string{name}
                        + "\" contains at least one non-terminal job \""
                        + copy(entry.value()->getId())
                        + "\". All jobs must be terminal in namespace before it can be deleted");
  for ([[maybe_unused]] const auto& entry : t_.variables.prefix(join_key(name, "")))
    return refuse(Errc::rejected,
                  "namespace \"" + std::string{name}
                      + "\" contains at least one variable. All variables in namespace must be "
                        "deleted before it can be deleted");
  t_.namespaces.erase(name);
  touch(Table::namespaces);
  changed(Table::namespaces, name);
}

void Applier::node_pool_upsert(schema::NodePool::Reader pool) {
  if (is_built_in_pool(view(pool.getName())))
    return refuse(Errc::rejected,
                  "modifying node pool \"" + copy(pool.getName()) + "\" is not allowed");
  put_node_pool(pool);
}

void Applier::put_node_pool(schema::NodePool::Reader pool) {
  const auto old = found_or_empty(t_.node_pools, view(pool.getName()));
  Draft<schema::NodePool> draft{pool};
  draft->setCreateIndex(old ? old->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  const Object<schema::NodePool> stored = draft.freeze();
  t_.node_pools.insert_or_assign(view(pool.getName()), stored);
  touch(Table::node_pools);
  changed(Table::node_pools, view(pool.getName()));
  event(stored);
}

void Applier::node_pool_delete(std::string_view name) {
  const auto pool = found_or_empty(t_.node_pools, name);
  const std::string quoted = "node pool \"" + std::string{name} + "\"";
  if (!pool) return refuse(Errc::not_found, "node pool " + std::string{name} + " not found");
  if (is_built_in_pool(name))
    return refuse(Errc::rejected, "deleting " + quoted + " is not allowed");
  for (const auto& entry : t_.nodes.all())
    if (view(entry.value()->getNodePool()) == name)
      return refuse(Errc::conflict, quoted + " has nodes");
  for (const auto& entry : t_.jobs.all())
    if (view(entry.value()->getNodePool()) == name && view(entry.value()->getStatus()) != "dead")
      return refuse(Errc::conflict, quoted + " has non-terminal jobs");
  t_.node_pools.erase(name);
  touch(Table::node_pools);
  changed(Table::node_pools, name);
  event(pool);
}

}  // namespace nomad::state
