#include "runtime/workload/services/service_address.hpp"

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::workload {
namespace {

/// A port of the allocation under a label.
struct LabelledPort {
  std::string host_ip;
  std::int64_t value = 0;   ///< On the host.
  std::int64_t inside = 0;  ///< In the network of the tasks.
};

LabelledPort labelled(const auto& port, std::string_view ip) {
  return {std::string{ip}, port.getValue(), port.getTo() > 0 ? port.getTo() : port.getValue()};
}

std::optional<LabelledPort> find_in(AddressScope::Networks networks, std::string_view label) {
  for (const auto network : networks)
    for (const auto ports : {network.getReservedPorts(), network.getDynamicPorts()})
      for (const auto port : ports)
        if (view(port.getLabel()) == label) return labelled(port, view(network.getIp()));
  return std::nullopt;
}

std::optional<LabelledPort> find_port(const AddressScope& scope, std::string_view label) {
  const auto shared = scope.alloc.resources().getShared();
  for (const auto port : shared.getPorts())
    if (view(port.getLabel()) == label) return labelled(port, view(port.getHostIp()));
  if (scope.task_networks)
    if (auto found = find_in(*scope.task_networks, label)) return found;
  return find_in(shared.getNetworks(), label);
}

Result<std::int64_t> port_number(std::string_view label, std::string_view labels) {
  const auto number = whole_number<std::int64_t>(label);
  if (!number)
    return Error{Errc::rejected,
                 fmt::format("port {} is neither {} nor a number; name a port of the network block",
                             quote(label), labels)};
  if (*number < 1 || *number > 65535)
    return Error{Errc::rejected, fmt::format("port {} is not between 1 and 65535", quote(label))};
  return *number;
}

Result<ServiceAddress> at_custom_address(const AddressScope& scope, const AddressRequest& request) {
  if (request.port.empty()) return ServiceAddress{request.address, 0};
  if (const auto port = find_port(scope, request.port))
    return ServiceAddress{request.address, port->value};
  return ServiceAddress{request.address,
                        NOMAD_TRY(port_number(request.port, "a port of the group"))};
}

Result<ServiceAddress> at_host(const AddressScope& scope, const AddressRequest& request) {
  if (request.port.empty()) return ServiceAddress{scope.host, 0};
  if (auto port = find_port(scope, request.port)) return ServiceAddress{port->host_ip, port->value};
  return ServiceAddress{scope.host, NOMAD_TRY(port_number(request.port, "a port of the group"))};
}

Result<ServiceAddress> at_driver(const AddressScope& scope, const AddressRequest& request) {
  if (scope.driver == nullptr || scope.driver->ip.empty())
    return Error{Errc::rejected,
                 "address_mode = \"driver\" needs a driver that makes a network for its tasks, and "
                 "this one made none; use \"host\" or \"auto\""};
  const auto& network = *scope.driver;
  if (request.port.empty()) return ServiceAddress{network.ip, 0};
  if (const auto port = find_port(scope, request.port))
    return ServiceAddress{network.ip, port->inside};
  if (const auto mapped = network.port_map.find(request.port); mapped != network.port_map.end())
    return ServiceAddress{network.ip, mapped->second};
  return ServiceAddress{network.ip,
                        NOMAD_TRY(port_number(request.port, "a port of the driver's network"))};
}

Result<ServiceAddress> in_alloc(const AddressScope& scope, const AddressRequest& request) {
  auto address = copy(scope.alloc.network_status().getAddress());
  if (address.empty())
    return Error{Errc::rejected,
                 "address_mode = \"alloc\" needs a network of the allocation's own, and it has "
                 "none; use \"host\" or \"auto\""};
  if (request.port.empty()) return ServiceAddress{std::move(address), 0};
  if (const auto port = find_port(scope, request.port))
    return ServiceAddress{std::move(address), port->inside};
  const auto number = NOMAD_TRY(port_number(request.port, "a port of the group"));
  return ServiceAddress{std::move(address), number};
}

}  // namespace

Result<ServiceAddress> service_address(const AddressScope& scope, const AddressRequest& request) {
  if (request.mode == "host") return at_host(scope, request);
  if (request.mode == "driver") return at_driver(scope, request);
  if (request.mode == "alloc") return in_alloc(scope, request);
  if (!request.mode.empty() && request.mode != "auto")
    return Error{Errc::rejected,
                 fmt::format("address_mode {} is unknown; it is \"auto\", \"alloc\", \"driver\" or "
                             "\"host\"",
                             quote(request.mode))};
  if (!request.address.empty()) return at_custom_address(scope, request);
  const bool has_driver_address = scope.driver != nullptr && scope.driver->auto_advertise;
  return has_driver_address ? at_driver(scope, request) : at_host(scope, request);
}

}  // namespace nomad::workload
