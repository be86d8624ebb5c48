#include "runtime/workload/services/service_registrations.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/service_provider.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/services/service_address.hpp"

namespace nomad::workload {
namespace {

/// What a group's or a task's services are resolved by.
struct Scope {
  const ServiceOwner& owner;
  const TaskEnv& env;
  std::string workload;  ///< In ids.
  AddressScope addresses;
};

/// "" for what the node does not say.
std::string fact_of(const Variables& node, std::string_view name) {
  const auto found = node.find(name);
  return found == node.end() ? std::string{} : found->second;
}

/// Of a service without a port of a network.
std::string host_ip(const ServiceOwner& owner, const AddressScope& scope) {
  const auto shared = owner.alloc.resources().getShared().getNetworks();
  for (const auto networks : {scope.task_networks.value_or(shared), shared})
    if (networks.size() == 1 && networks[0].getIp().size() > 0) return copy(networks[0].getIp());
  return fact_of(owner.node, "attr.unique.network.ip-address");
}

/// A canary has its own tags until it is promoted, if the service names any.
auto tags_of(const ServiceOwner& owner, schema::Service::Reader service) {
  const bool is_canary = owner.alloc.is_canary();
  return is_canary && service.getCanaryTags().size() > 0 ? service.getCanaryTags()
                                                         : service.getTags();
}

Result<ServiceRegistration> register_one(const Scope& scope, schema::Service::Reader service) {
  const auto& owner = scope.owner;
  const auto name = scope.env.replace(view(service.getName()));
  if (!is_dns_label(name))
    return Error{Errc::rejected,
                 fmt::format("its name is {} once interpolated; it may have letters, digits and "
                             "inner dashes, 63 at most",
                             quote(name))};
  const AddressRequest request{.mode = copy(service.getAddressMode()),
                               .address = scope.env.replace(view(service.getAddress())),
                               .port = scope.env.replace(view(service.getPortLabel()))};
  const auto reached = NOMAD_TRY(service_address(scope.addresses, request));
  Draft<schema::ServiceRegistration> draft;
  draft->setId(text(fmt::format("_nomad-task-{}-{}-{}-{}", owner.alloc.id(), scope.workload, name,
                                request.port)));
  draft->setServiceName(text(name));
  draft->setNamespace(text(owner.alloc.ns()));
  draft->setNodeId(text(fact_of(owner.node, "node.unique.id")));
  draft->setDatacenter(text(fact_of(owner.node, "node.datacenter")));
  draft->setJobId(text(owner.alloc.job_id()));
  draft->setAllocId(text(owner.alloc.id()));
  const auto tags = tags_of(owner, service);
  auto replaced = draft->initTags(tags.size());
  for (unsigned i = 0; i < tags.size(); ++i)
    replaced.set(i, text(scope.env.replace(view(tags[i]))));
  draft->setAddress(text(reached.address));
  draft->setPort(reached.port);
  return draft.freeze();
}

Result<std::vector<ServiceRegistration>> register_all(
    const Scope& scope, capnp::List<schema::Service>::Reader services) {
  std::vector<ServiceRegistration> all;
  std::set<std::string> ids;
  for (const auto service : services) {
    if (!jobspec::is_served_by_clients(view(service.getProvider()))) continue;
    const auto what = "service " + quote(view(service.getName()));
    all.push_back(NOMAD_TRY(register_one(scope, service).within(what)));
    if (!ids.insert(copy(all.back()->getId())).second)
      return Error{Errc::rejected,
                   what + ": another one has the same name and port once they are interpolated; "
                          "give it another name"};
  }
  return all;
}

Error unknown_group(const ServiceOwner& owner) {
  return {Errc::not_found, fmt::format("job {} has no group {}", quote(view(owner.job.getId())),
                                       quote(owner.alloc.task_group()))};
}

}  // namespace

Result<std::vector<ServiceRegistration>> group_registrations(const ServiceOwner& owner,
                                                             const TaskEnv& env) {
  const auto group = find_group(owner.job, owner.alloc.task_group());
  if (!group) return unknown_group(owner);
  Scope scope{.owner = owner,
              .env = env,
              .workload = fmt::format("group-{}", view(group->getName())),
              .addresses = {.alloc = owner.alloc}};
  scope.addresses.host = host_ip(owner, scope.addresses);
  return register_all(scope, group->getServices());
}

Result<std::vector<ServiceRegistration>> task_registrations(const ServiceOwner& owner,
                                                            std::string_view task,
                                                            const TaskEnv& env,
                                                            const DriverNetwork* network) {
  const auto group = find_group(owner.job, owner.alloc.task_group());
  if (!group) return unknown_group(owner);
  Scope scope{.owner = owner,
              .env = env,
              .workload = std::string{task},
              .addresses = {.alloc = owner.alloc, .driver = network}};
  if (const auto given = owner.alloc.resources(task))
    scope.addresses.task_networks = given->getNetworks();
  scope.addresses.host = host_ip(owner, scope.addresses);
  for (const auto each : group->getTasks())
    if (view(each.getName()) == task) return register_all(scope, each.getServices());
  return Error{Errc::not_found,
               fmt::format("group {} has no task {}", quote(view(group->getName())), quote(task))};
}

RegistrationChanges registration_changes(const std::vector<ServiceRegistration>& before,
                                         const std::vector<ServiceRegistration>& after) {
  std::map<std::string_view, ServiceRegistration> old;
  for (const auto& one : before)
    old.emplace(view(one->getId()), one);
  RegistrationChanges changes;
  for (const auto& one : after) {
    const auto known = old.extract(view(one->getId()));
    if (known.empty() || !known.mapped().equals(one)) changes.put.push_back(one);
  }
  for (const auto& [id, one] : old)
    changes.gone.emplace_back(id);
  return changes;
}

}  // namespace nomad::workload
