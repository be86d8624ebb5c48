// Parsers and decisions for networks (see parse.hpp).
#include <algorithm>

#include <boost/json.hpp>

#include "runtime/base/ip_network.hpp"
#include "runtime/host/fingerprint/parse.hpp"

namespace nomad::host {

namespace {

constexpr std::uint64_t default_speed = 1000;  // Mbit/s where the system does not say

std::vector<std::string> aliases_of(const FingerprintOptions& options,
                                    const std::string& default_interface,
                                    const InterfaceAddress& address) {
  std::vector<std::string> aliases;
  for (const HostNetwork& network : options.host_networks) {
    bool address_fits = network.cidr.empty() || in_networks(address.address, network.cidr);
    bool interface_fits = network.interface.empty() || network.interface == address.interface;
    if (address_fits && interface_fits) aliases.push_back(network.name);
  }
  std::sort(aliases.begin(), aliases.end());
  if (address.interface == default_interface) aliases.push_back("default");
  return aliases;
}

std::string reserved_ports_of(const FingerprintOptions& options, const std::string& alias) {
  for (const HostNetwork& network : options.host_networks) {
    if (network.name == alias) return network.reserved_ports;
  }
  return {};
}

// Ordinary addresses, or else the link-local ones, if those are wanted.
template <class T>
std::vector<T> choose(std::vector<T> ordinary, std::vector<T> link_local, bool disallow) {
  if (!ordinary.empty() || disallow) return ordinary;
  return link_local;
}

}  // namespace

bool is_cni_file(std::string_view extension) {
  return extension == ".conf" || extension == ".conflist" || extension == ".json";
}

Result<std::string> parse_cni_name(std::string_view text, bool is_list) {
  boost::json::error_code failure;
  const auto tree = boost::json::parse(text, failure);
  if (failure) return Error{Errc::invalid_argument, "no JSON: " + failure.message()};
  const auto* object = tree.if_object();
  const auto* name = object != nullptr ? object->if_contains("name") : nullptr;
  if (name == nullptr || !name->is_string() || name->get_string().empty())
    return Error{Errc::invalid_argument, "it has no \"name\""};
  const auto* plugins = object->if_contains(is_list ? "plugins" : "type");
  const bool has_plugins
      = plugins != nullptr
        && (is_list ? plugins->is_array() && !plugins->get_array().empty() : plugins->is_string());
  if (!has_plugins)
    return Error{Errc::invalid_argument,
                 is_list ? "it lists no \"plugins\"" : "it has no \"type\""};
  return std::string{name->get_string()};
}

bool is_link_local(std::string_view address) {
  return in_networks(address, "169.254.0.0/16,fe80::/10,224.0.0.0/24,ff02::/16");
}

void describe_networks(const FingerprintOptions& options,
                       const std::string& default_interface,
                       const std::vector<Interface>& interfaces,
                       const std::vector<InterfaceAddress>& addresses,
                       NodeFacts& facts) {
  std::uint64_t speed = default_speed;
  for (const Interface& interface : interfaces) {
    if (interface.name == default_interface && interface.speed != 0) speed = interface.speed;
  }
  if (options.network_speed != 0) speed = options.network_speed;
  std::vector<NetworkResource> ordinary, link_local;
  for (const InterfaceAddress& address : addresses) {
    if (address.interface != default_interface) continue;
    auto& position = is_link_local(address.address) ? link_local : ordinary;
    position.push_back({"host", default_interface,
                        address.address + (address.ipv6 ? "/128" : "/32"), address.address, speed});
  }
  auto chosen = choose(std::move(ordinary), std::move(link_local), options.disallow_link_local);
  if (!chosen.empty()) facts.attributes["unique.network.ip-address"] = chosen.front().ip;
  facts.networks.insert(facts.networks.end(), chosen.begin(), chosen.end());

  for (const Interface& interface : interfaces) {
    std::vector<NodeAddress> near, far;
    for (const InterfaceAddress& address : addresses) {
      if (address.interface != interface.name) continue;
      for (const std::string& alias : aliases_of(options, default_interface, address)) {
        auto& position = is_link_local(address.address) ? near : far;
        position.push_back({address.ipv6 ? "ipv6" : "ipv4", alias, address.address,
                            reserved_ports_of(options, alias)});
      }
    }
    auto used = choose(std::move(far), std::move(near), options.disallow_link_local);
    if (used.empty()) continue;
    facts.node_networks.push_back({"host", interface.name, interface.mac,
                                   interface.speed != 0 ? interface.speed : default_speed,
                                   std::move(used)});
  }
}

}  // namespace nomad::host
