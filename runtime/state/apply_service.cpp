// Registrations of services: what client nodes say of their allocations, and what goes with an
// allocation that ends or is collected, and with a node that is down or purged (not with one that
// is only disconnected: what it runs may go on). Their events are of their own types, whichever
// command they come by.
#include "runtime/state/applier.hpp"

namespace nomad::state {

void Applier::services(schema::Command::Reader command) {
  if (command.isServiceUpsert()) service_upsert(command.getServiceUpsert());
  if (command.isServiceDelete()) service_delete(command.getServiceDelete());
  if (command.isNodeServices()) node_services(command.getNodeServices());
}

void Applier::service_upsert(schema::ServiceUpsert::Reader command) {
  for (auto service : command.getServices())
    put_service(service);
}

void Applier::put_service(schema::ServiceRegistration::Reader service) {
  const std::string key = join_key(view(service.getNamespace()), view(service.getId()));
  const auto* found = t_.services.find(key);
  const auto old = found != nullptr ? *found : Object<schema::ServiceRegistration>{};
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
  note_service_change(*stored);
  event_as("ServiceRegistration", stored);
}

void Applier::service_delete(schema::ServiceDelete::Reader command) {
  bool any = false;
  for (auto key : command.getKeys())
    any = remove_service(join_key(view(key.getNamespace()), view(key.getId()))) || any;
  if (command.getNodeId().size() > 0)
    return remove_services(t_.services_by_node, view(command.getNodeId()));
  if (!any && command.getKeys().size() > 0)
    refuse(Errc::not_found, "service registration not found");
}

void Applier::node_services(schema::NodeServices::Reader command) {
  for (const auto gone : command.getGone()) {
    if (gone.getIds().size() == 0) remove_services(t_.services_by_alloc, view(gone.getAllocId()));
    for (const auto id : gone.getIds())
      remove_service(join_key(view(gone.getNamespace()), view(id)));
  }
  for (const auto service : command.getRegistered())
    if (may_offer(service)) put_service(service);
}

/// Whether the registration's allocation is still to run, and its node is not given up.
bool Applier::may_offer(schema::ServiceRegistration::Reader service) const {
  const AllocRef* row = t_.allocs.find(view(service.getAllocId()));
  return row != nullptr && !(*row)->terminal() && t_.nodes.contains(view(service.getNodeId()))
         && !is_given_up(view(service.getNodeId()));
}

/// Removes those that `index`, a table by `owner` first, has of him.
void Applier::remove_services(const ServiceMap& index, std::string_view owner) {
  std::vector<std::string> keys;
  for (const auto& entry : index.prefix(join_key(owner, "")))
    keys.push_back(join_key(view(entry.value()->getNamespace()), view(entry.value()->getId())));
  for (const auto& key : keys)
    remove_service(key);
}

bool Applier::remove_service(const std::string& key) {
  const auto* found = t_.services.find(key);
  if (found == nullptr) return false;
  const Object<schema::ServiceRegistration> service = *found;
  t_.services.erase(key);
  t_.services_by_name.erase(join_key(view(service->getNamespace()), view(service->getServiceName()),
                                     view(service->getId())));
  t_.services_by_alloc.erase(join_key(view(service->getAllocId()), key));
  t_.services_by_node.erase(join_key(view(service->getNodeId()), key));
  note_service_change(*service);
  event_as("ServiceDeregistration", service);
  return true;
}

void Applier::note_service_change(schema::ServiceRegistration::Reader service) {
  const auto ns = view(service.getNamespace());
  touch(Table::services);
  changed(Table::services, join_key(ns, view(service.getId())));
  changed(Table::services_by_name, join_key(ns, view(service.getServiceName())));
  changed(Table::services_by_alloc, view(service.getAllocId()));
  changed(Table::services_by_job, join_key(ns, view(service.getJobId())));
}

}  // namespace nomad::state
