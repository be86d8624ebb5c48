#include "runtime/workload/services/service_registrations.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::workload {
namespace {

using Networks = capnp::List<schema::NetworkResource>::Reader;

/// Where a service is reached.
struct Endpoint {
  std::string address;
  std::int64_t port = 0;
};

/// A port of the allocation under a label.
struct LabelledPort {
  std::string host_ip;
  std::int64_t value = 0;   ///< On the host.
  std::int64_t inside = 0;  ///< In the network of the tasks.
};

/// What a group's or a task's services are resolved by.
struct Scope {
  const ServiceOwner& owner;
  const TaskEnv& env;
  std::string workload;  ///< In ids.
  std::optional<Networks> own_networks;
  const DriverNetwork* driver = nullptr;

  std::optional<LabelledPort> find_port(std::string_view label) const;
  std::string host_ip() const;
};

/// A service's texts, interpolated.
struct Spec {
  std::string name;
  std::string port_label;
  std::string address;
  std::string_view mode;
};

LabelledPort labelled(const auto& port, std::string_view ip) {
  return {std::string{ip}, port.getValue(), port.getTo() > 0 ? port.getTo() : port.getValue()};
}

std::optional<LabelledPort> find_in(Networks networks, std::string_view label) {
  for (const auto network : networks)
    for (const auto ports : {network.getReservedPorts(), network.getDynamicPorts()})
      for (const auto port : ports)
        if (view(port.getLabel()) == label) return labelled(port, view(network.getIp()));
  return std::nullopt;
}

std::optional<LabelledPort> Scope::find_port(std::string_view label) const {
  const auto shared = owner.alloc.getAllocatedResources().getShared();
  for (const auto port : shared.getPorts())
    if (view(port.getLabel()) == label) return labelled(port, view(port.getHostIp()));
  if (own_networks)
    if (auto found = find_in(*own_networks, label)) return found;
  return find_in(shared.getNetworks(), label);
}

/// "" for what the node does not say.
std::string fact_of(const Variables& node, std::string_view name) {
  const auto found = node.find(name);
  return found == node.end() ? std::string{} : found->second;
}

/// Of a service without a port of a network.
std::string Scope::host_ip() const {
  const auto shared = owner.alloc.getAllocatedResources().getShared().getNetworks();
  for (const auto networks : {own_networks.value_or(shared), shared})
    if (networks.size() == 1 && networks[0].getIp().size() > 0) return copy(networks[0].getIp());
  return fact_of(owner.node, "attr.unique.network.ip-address");
}

Result<std::int64_t> port_number(std::string_view label, std::string_view labels) {
  std::int64_t number = 0;
  const auto end = label.data() + label.size();
  const auto parsed = std::from_chars(label.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end)
    return Error{Errc::rejected,
                 fmt::format("port {} is neither {} nor a number; name a port of the network block",
                             quote(label), labels)};
  if (number < 1 || number > 65535)
    return Error{Errc::rejected, fmt::format("port {} is not between 1 and 65535", quote(label))};
  return number;
}

Result<Endpoint> at_custom_address(const Scope& scope, const Spec& spec) {
  if (spec.port_label.empty()) return Endpoint{spec.address, 0};
  if (const auto port = scope.find_port(spec.port_label))
    return Endpoint{spec.address, port->value};
  const auto number = NOMAD_TRY(port_number(spec.port_label, "a port of the group"));
  return Endpoint{spec.address, number};
}

Result<Endpoint> at_host(const Scope& scope, const Spec& spec) {
  if (spec.port_label.empty()) return Endpoint{scope.host_ip(), 0};
  if (auto port = scope.find_port(spec.port_label)) return Endpoint{port->host_ip, port->value};
  const auto number = NOMAD_TRY(port_number(spec.port_label, "a port of the group"));
  return Endpoint{scope.host_ip(), number};
}

Result<Endpoint> at_driver(const Scope& scope, const Spec& spec) {
  if (scope.driver == nullptr || scope.driver->ip.empty())
    return Error{Errc::rejected,
                 "address_mode = \"driver\" needs a driver that makes a network for its tasks, and "
                 "this one made none; use \"host\" or \"auto\""};
  const auto& network = *scope.driver;
  if (spec.port_label.empty()) return Endpoint{network.ip, 0};
  if (const auto port = scope.find_port(spec.port_label)) return Endpoint{network.ip, port->inside};
  if (const auto mapped = network.port_map.find(spec.port_label); mapped != network.port_map.end())
    return Endpoint{network.ip, mapped->second};
  const auto number = NOMAD_TRY(port_number(spec.port_label, "a port of the driver's network"));
  return Endpoint{network.ip, number};
}

Result<Endpoint> in_alloc(const Scope& scope, const Spec& spec) {
  const auto address = view(scope.owner.alloc.getNetworkStatus().getAddress());
  if (address.empty())
    return Error{Errc::rejected,
                 "address_mode = \"alloc\" needs a network of the allocation's own, and it has "
                 "none; use \"host\" or \"auto\""};
  if (spec.port_label.empty()) return Endpoint{std::string{address}, 0};
  if (const auto port = scope.find_port(spec.port_label))
    return Endpoint{std::string{address}, port->inside};
  const auto number = NOMAD_TRY(port_number(spec.port_label, "a port of the group"));
  return Endpoint{std::string{address}, number};
}

Result<Endpoint> resolve(const Scope& scope, const Spec& spec) {
  if (spec.mode == "host") return at_host(scope, spec);
  if (spec.mode == "driver") return at_driver(scope, spec);
  if (spec.mode == "alloc") return in_alloc(scope, spec);
  if (!spec.mode.empty() && spec.mode != "auto")
    return Error{Errc::rejected,
                 fmt::format("address_mode {} is unknown; it is \"auto\", \"alloc\", \"driver\" or "
                             "\"host\"",
                             quote(spec.mode))};
  if (!spec.address.empty()) return at_custom_address(scope, spec);
  const bool has_driver_address = scope.driver != nullptr && scope.driver->auto_advertise;
  return has_driver_address ? at_driver(scope, spec) : at_host(scope, spec);
}

/// A canary has its own tags until it is promoted, if the service names any.
auto tags_of(const ServiceOwner& owner, schema::Service::Reader service) {
  const bool is_canary = owner.alloc.getDeploymentStatus().getCanary();
  return is_canary && service.getCanaryTags().size() > 0 ? service.getCanaryTags()
                                                         : service.getTags();
}

Result<ServiceRegistration> register_one(const Scope& scope, schema::Service::Reader service) {
  const auto& owner = scope.owner;
  const Spec spec{.name = scope.env.replace(view(service.getName())),
                  .port_label = scope.env.replace(view(service.getPortLabel())),
                  .address = scope.env.replace(view(service.getAddress())),
                  .mode = view(service.getAddressMode())};
  if (!is_dns_label(spec.name))
    return Error{Errc::rejected,
                 fmt::format("its name is {} once interpolated; it may have letters, digits and "
                             "inner dashes, 63 at most",
                             quote(spec.name))};
  const auto endpoint = NOMAD_TRY(resolve(scope, spec));
  Draft<schema::ServiceRegistration> draft;
  draft->setId(text(fmt::format("_nomad-task-{}-{}-{}-{}", view(owner.alloc.getId()),
                                scope.workload, spec.name, spec.port_label)));
  draft->setServiceName(text(spec.name));
  draft->setNamespace(owner.alloc.getNamespace());
  draft->setNodeId(text(fact_of(owner.node, "node.unique.id")));
  draft->setDatacenter(text(fact_of(owner.node, "node.datacenter")));
  draft->setJobId(owner.alloc.getJobId());
  draft->setAllocId(owner.alloc.getId());
  const auto tags = tags_of(owner, service);
  auto replaced = draft->initTags(tags.size());
  for (unsigned i = 0; i < tags.size(); ++i)
    replaced.set(i, text(scope.env.replace(view(tags[i]))));
  draft->setAddress(text(endpoint.address));
  draft->setPort(endpoint.port);
  return draft.freeze();
}

Result<std::vector<ServiceRegistration>> register_all(
    const Scope& scope, capnp::List<schema::Service>::Reader services) {
  std::vector<ServiceRegistration> all;
  std::set<std::string> ids;
  for (const auto service : services) {
    if (view(service.getProvider()) != "nomad") continue;
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
                                       quote(view(owner.alloc.getTaskGroup())))};
}

}  // namespace

Result<std::vector<ServiceRegistration>> group_registrations(const ServiceOwner& owner,
                                                             const TaskEnv& env) {
  const auto group = find_group(owner.job, view(owner.alloc.getTaskGroup()));
  if (!group) return unknown_group(owner);
  const Scope scope{.owner = owner,
                    .env = env,
                    .workload = fmt::format("group-{}", view(group->getName())),
                    .own_networks = std::nullopt};
  return register_all(scope, group->getServices());
}

Result<std::vector<ServiceRegistration>> task_registrations(const ServiceOwner& owner,
                                                            std::string_view task,
                                                            const TaskEnv& env,
                                                            const DriverNetwork* network) {
  const auto group = find_group(owner.job, view(owner.alloc.getTaskGroup()));
  if (!group) return unknown_group(owner);
  Scope scope{.owner = owner,
              .env = env,
              .workload = std::string{task},
              .own_networks = std::nullopt,
              .driver = network};
  for (const auto entry : owner.alloc.getAllocatedResources().getTasks())
    if (view(entry.getKey()) == task) scope.own_networks = entry.getValue().getNetworks();
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
