// Registrations of services: what client nodes say of their allocations, and what goes with an
// allocation that ends or is collected, and with a node that is down or purged (not with one that
// is only disconnected: what it runs may go on). Their events are of their own types, whichever
// command they come by.
#include "runtime/state/apply_kind.hpp"

namespace nomad::state {

void Applier::service_upsert(schema::ServiceUpsert::Reader command) {
  for (auto service : command.getServices())
    put_service(service);
}

void Applier::put_service(schema::ServiceRegistration::Reader service) {
  const auto old = found<kind::Services>(kind::Services::key(service));
  if (old) {  // a client says the same again: nothing changes, nobody wakes
    Draft<schema::ServiceRegistration> draft{service};
    draft->setCreateIndex(old->getCreateIndex());
    draft->setModifyIndex(old->getModifyIndex());
    if (draft.freeze().equals(old)) return;
  }
  put_stamped<kind::Services>(old, service);
}

void Applier::service_delete(schema::ServiceDelete::Reader command) {
  bool any = false;
  for (auto key : command.getKeys())
    any = remove<kind::Services>(join_key(view(key.getNamespace()), view(key.getId()))) || any;
  if (command.getNodeId().size() > 0)
    return remove_services(t_.services_by_node, view(command.getNodeId()));
  if (!any && command.getKeys().size() > 0)
    refuse(Errc::not_found, "service registration not found");
}

void Applier::node_services(schema::NodeServices::Reader command) {
  for (const auto gone : command.getGone()) {
    if (gone.getIds().size() == 0) remove_services(t_.services_by_alloc, view(gone.getAllocId()));
    for (const auto id : gone.getIds())
      remove<kind::Services>(join_key(view(gone.getNamespace()), view(id)));
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
  std::vector<Object<schema::ServiceRegistration>> services;
  for (const auto& entry : index.prefix(join_key(owner, "")))
    services.push_back(entry.value());
  for (const auto& service : services)
    replace<kind::Services>(service, {});
}

}  // namespace nomad::state
