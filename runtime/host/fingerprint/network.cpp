// Parsers and decisions for networks (see parse.hpp).
#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>

#include "runtime/base/text.hpp"
#include "runtime/host/fingerprint/parse.hpp"

namespace nomad::host {

namespace {

constexpr std::uint64_t default_speed = 1000;  // Mbit/s where the system does not say

// An address as bytes: 4 or 16, empty when it is none.
std::string address_bytes(std::string_view text) {
  std::string name{text};
  char bytes[16];
  if (::inet_pton(AF_INET, name.c_str(), bytes) == 1) return {bytes, 4};
  if (::inet_pton(AF_INET6, name.c_str(), bytes) == 1) return {bytes, 16};
  return {};
}

bool in_network(const std::string& address, std::string_view cidr) {
  std::size_t slash = cidr.find('/');
  if (slash == std::string_view::npos) return false;
  std::string network = address_bytes(trim(cidr.substr(0, slash)));
  std::string_view digits = trim(cidr.substr(slash + 1));
  unsigned bits = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc{} || end != digits.data() + digits.size() || network.empty()
      || network.size() != address.size() || bits > 8 * network.size())
    return false;
  if (std::memcmp(network.data(), address.data(), bits / 8) != 0) return false;
  if (bits % 8 == 0) return true;
  unsigned mask = 0xffU << (8 - bits % 8) & 0xffU;
  auto byte = [&](const std::string& bytes) {
    return static_cast<unsigned char>(bytes[bits / 8]) & mask;
  };
  return byte(network) == byte(address);
}

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

bool in_networks(std::string_view address, std::string_view cidrs) {
  std::string bytes = address_bytes(address);
  if (bytes.empty()) return false;
  for (std::string_view cidr : split(cidrs, ',')) {
    if (in_network(bytes, cidr)) return true;
  }
  return false;
}

bool is_link_local(std::string_view address) {
  return in_networks(address, "169.254.0.0/16,fe80::/10,224.0.0.0/24,ff02::/16");
}

std::string parse_default_route(std::string_view route, std::string_view ipv6_route) {
  std::string best;
  std::uint64_t best_metric = 0;
  auto consider = [&](std::string_view interface, std::string_view flags, std::string_view metric,
                      int metric_base) {
    std::uint64_t flag_bits = 0, value = 0;
    std::from_chars(flags.data(), flags.data() + flags.size(), flag_bits, 16);
    std::from_chars(metric.data(), metric.data() + metric.size(), value, metric_base);
    constexpr std::uint64_t up = 1, reject = 0x200;
    if ((flag_bits & up) == 0 || (flag_bits & reject) != 0) return;
    if (!best.empty() && best_metric <= value) return;
    best = interface;
    best_metric = value;
  };
  for (std::string_view line : split(route, '\n')) {
    auto words = fields(line, file_space);
    if (words.size() >= 8 && words[1] == "00000000" && words[7] == "00000000")
      consider(words[0], words[3], words[6], 10);
  }
  if (!best.empty()) return best;
  for (std::string_view line : split(ipv6_route, '\n')) {
    auto words = fields(line, file_space);
    if (words.size() >= 10 && words[0] == "00000000000000000000000000000000" && words[1] == "00"
        && words[9] != "lo")
      consider(words[9], words[8], words[5], 16);
  }
  return best;
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
    auto& place = is_link_local(address.address) ? link_local : ordinary;
    place.push_back({"host", default_interface, address.address + (address.ipv6 ? "/128" : "/32"),
                     address.address, speed});
  }
  auto chosen = choose(std::move(ordinary), std::move(link_local), options.disallow_link_local);
  if (!chosen.empty()) facts.attributes["unique.network.ip-address"] = chosen.front().ip;
  facts.networks.insert(facts.networks.end(), chosen.begin(), chosen.end());

  for (const Interface& interface : interfaces) {
    std::vector<NodeAddress> near, far;
    for (const InterfaceAddress& address : addresses) {
      if (address.interface != interface.name) continue;
      for (const std::string& alias : aliases_of(options, default_interface, address)) {
        auto& place = is_link_local(address.address) ? near : far;
        place.push_back({address.ipv6 ? "ipv6" : "ipv4", alias, address.address,
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
