// Namespaces, node pools, the scheduler's configuration, service registrations.
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

void Applier::service_upsert(schema::ServiceUpsert::Reader command) {
  for (auto service : command.getServices())
    put_service(service);
}

void Applier::put_service(schema::ServiceRegistration::Reader service) {
  const std::string key = join_key(view(service.getNamespace()), view(service.getId()));
  const auto old = found_or_empty(t_.services, key);
  Draft<schema::ServiceRegistration> draft{service};
  if (old) {  // a client says the same again: nothing changes, nobody wakes
    draft->setCreateIndex(old->getCreateIndex());
    draft->setModifyIndex(old->getModifyIndex());
    if (draft.freeze().equals(old)) return;
    remove_service(key);
  }
  draft->setCreateIndex(old ? old->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  const Object<schema::ServiceRegistration> stored = draft.freeze();
  t_.services.insert_or_assign(key, stored);
  t_.services_by_name.insert_or_assign(
      join_key(view(stored->getNamespace()), view(stored->getServiceName()), view(stored->getId())),
      stored);
  t_.services_by_alloc.insert_or_assign(join_key(view(stored->getAllocId()), key), stored);
  t_.services_by_node.insert_or_assign(join_key(view(stored->getNodeId()), key), stored);
  touch(Table::services);
  changed(Table::services, key);
  changed(Table::services_by_name,
          join_key(view(stored->getNamespace()), view(stored->getServiceName())));
  changed(Table::services_by_alloc, view(stored->getAllocId()));
  event(stored);
}

void Applier::service_delete(schema::ServiceDelete::Reader command) {
  bool any = false;
  for (auto key : command.getKeys())
    any = remove_service(join_key(view(key.getNamespace()), view(key.getId()))) || any;
  if (command.getNodeId().size() > 0) {
    std::vector<std::string> keys;
    for (const auto& entry : t_.services_by_node.prefix(join_key(view(command.getNodeId()), "")))
      keys.push_back(join_key(view(entry.value()->getNamespace()), view(entry.value()->getId())));
    for (const auto& key : keys)
      remove_service(key);
    return;
  }
  if (!any && command.getKeys().size() > 0)
    refuse(Errc::not_found, "service registration not found");
}

bool Applier::remove_service(const std::string& key) {
  const auto service = found_or_empty(t_.services, key);
  if (!service) return false;
  t_.services.erase(key);
  t_.services_by_name.erase(join_key(view(service->getNamespace()), view(service->getServiceName()),
                                     view(service->getId())));
  t_.services_by_alloc.erase(join_key(view(service->getAllocId()), key));
  t_.services_by_node.erase(join_key(view(service->getNodeId()), key));
  touch(Table::services);
  changed(Table::services, key);
  changed(Table::services_by_name,
          join_key(view(service->getNamespace()), view(service->getServiceName())));
  changed(Table::services_by_alloc, view(service->getAllocId()));
  event(service);
  return true;
}

}  // namespace nomad::state
