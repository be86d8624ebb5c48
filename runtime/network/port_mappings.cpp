#include "runtime/network/port_mappings.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::network {
namespace {

void add(std::vector<PortMapping>& to, const auto& port, std::string host_ip) {
  for (const auto* protocol : {"tcp", "udp"})
    to.push_back({.host_port = port.getValue(),
                  .inside = port.getTo() > 0 ? port.getTo() : port.getValue(),
                  .protocol = protocol,
                  .host_ip = host_ip,
                  .label = copy(port.getLabel())});
}

}  // namespace

std::vector<PortMapping> port_mappings(schema::AllocatedSharedResources::Reader shared,
                                       bool every_address) {
  std::vector<PortMapping> mappings;
  for (const auto port : shared.getPorts())
    add(mappings, port, every_address ? std::string{} : copy(port.getHostIp()));
  if (!mappings.empty()) return mappings;
  for (const auto network : shared.getNetworks()) {
    for (const auto port : network.getDynamicPorts())
      add(mappings, port, {});
    for (const auto port : network.getReservedPorts())
      add(mappings, port, {});
  }
  return mappings;
}

}  // namespace nomad::network
