#include "runtime/artifact/rules/reach.hpp"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace nomad::artifact {
namespace {

constexpr std::uint16_t name_port = 53;
constexpr std::array<std::uint8_t, 12> before_ipv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<std::uint8_t, 12> before_nat64{0, 0x64, 0xff, 0x9b};

/// Where clouds answer that have no link-local address for it: Amazon and Google by IPv6, Alibaba,
/// Azure's agent.
constexpr std::array metadata_addresses{"fd00:ec2::254", "fd20:ce::254", "100.100.100.200",
                                        "168.63.129.16"};

bool has_ipv4(const IpBytes& ip) {
  return std::equal(before_ipv4.begin(), before_ipv4.end(), ip.begin());
}

/// IPv4 in every form that IPv6 has for it, as ::ffff:a.b.c.d: the kernel or a gateway of the
/// network turns them into it.
IpBytes plain(IpBytes ip) {
  const bool is_nat64 = std::equal(before_nat64.begin(), before_nat64.end(), ip.begin());
  const bool is_compatible = std::all_of(ip.begin(), ip.begin() + 12, [](auto b) { return b == 0; })
                             && (ip[12] != 0 || ip[13] != 0 || ip[14] != 0);
  if (is_nat64 || is_compatible) std::copy(before_ipv4.begin(), before_ipv4.end(), ip.begin());
  return ip;
}

/// Loopback, or the address of none, which leads to the machine itself.
bool is_loopback(const IpBytes& ip) {
  if (has_ipv4(ip)) return ip[12] == 127 || ip[12] == 0;
  return std::all_of(ip.begin(), ip.end() - 1, [](auto byte) { return byte == 0; }) && ip[15] <= 1;
}

bool is_link_local(const IpBytes& ip) {
  if (has_ipv4(ip)) return ip[12] == 169 && ip[13] == 254;
  return ip[0] == 0xfe && (ip[1] & 0xc0U) == 0x80;
}

bool tells_keys(const IpBytes& ip) {
  return std::any_of(metadata_addresses.begin(), metadata_addresses.end(),
                     [&](const char* text) { return ip_of(text) == ip; });
}

std::string shown(const IpBytes& ip, std::uint16_t port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto at = ":" + std::to_string(port);
  if (has_ipv4(ip)) {
    ::inet_ntop(AF_INET, &ip[12], text.data(), text.size());
    return text.data() + at;
  }
  ::inet_ntop(AF_INET6, ip.data(), text.data(), text.size());
  return "[" + std::string{text.data()} + "]" + at;
}

}  // namespace

std::optional<IpBytes> ip_of(std::string_view text) {
  const std::string whole{text};
  IpBytes ip{};
  if (::inet_pton(AF_INET6, whole.c_str(), ip.data()) == 1) return ip;
  std::copy(before_ipv4.begin(), before_ipv4.end(), ip.begin());
  if (::inet_pton(AF_INET, whole.c_str(), &ip[12]) == 1) return ip;
  return {};
}

std::optional<IpBytes> ip_of(const sockaddr* address, std::size_t size) {
  if (size < sizeof(sa_family_t)) return {};
  IpBytes ip{};
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in from{};
    std::memcpy(&from, address, sizeof from);
    std::copy(before_ipv4.begin(), before_ipv4.end(), ip.begin());
    std::memcpy(&ip[12], &from.sin_addr, 4);
    return ip;
  }
  // The kernel takes one without the scope, too.
  constexpr auto least = offsetof(sockaddr_in6, sin6_scope_id);
  if (address->sa_family == AF_INET6 && size >= least) {
    std::memcpy(ip.data(),
                reinterpret_cast<const char*>(address) + offsetof(sockaddr_in6, sin6_addr),
                ip.size());
    return ip;
  }
  return {};
}

std::vector<IpBytes> name_servers_of(std::string_view resolv_conf) {
  constexpr std::string_view word = "nameserver", blanks = " \t\r";
  std::vector<IpBytes> all;
  while (!resolv_conf.empty()) {
    auto line = resolv_conf.substr(0, resolv_conf.find('\n'));
    resolv_conf.remove_prefix(std::min(line.size() + 1, resolv_conf.size()));
    if (!line.starts_with(word)) continue;
    line.remove_prefix(word.size());
    const auto begin = line.find_first_not_of(blanks);
    if (begin == 0 || begin == std::string_view::npos) continue;
    line = line.substr(begin);
    // Of "fe80::1%eth0" the address.
    if (const auto ip = ip_of(line.substr(0, line.find_first_of(" \t\r%")))) all.push_back(*ip);
  }
  if (all.empty()) all = {*ip_of("127.0.0.1"), *ip_of("::1")};
  return all;
}

ReachJudge::ReachJudge(const Reach& reach,
                       std::vector<IpBytes> of_machine,
                       std::vector<IpBytes> name_servers)
    : reach_{reach}, own_{std::move(of_machine)}, name_servers_{std::move(name_servers)} {
  for (const auto& text : reach.agent_addresses)
    if (const auto ip = ip_of(text)) own_.push_back(*ip);
}

bool ReachJudge::is_own(const IpBytes& ip) const {
  return is_loopback(ip)
         || std::any_of(own_.begin(), own_.end(), [&](auto own) { return plain(own) == ip; });
}

std::optional<std::string> ReachJudge::refuses(const sockaddr* address, std::size_t size) const {
  const auto ip = ip_of(address, size);
  if (!ip) return {};
  in_port_t port = 0;  // in the same place of both kinds
  std::memcpy(&port, reinterpret_cast<const char*>(address) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return refuses(*ip, ntohs(port));
}

std::optional<std::string> ReachJudge::refuses(IpBytes ip, std::uint16_t port) const {
  ip = plain(ip);
  const auto& ports = reach_.agent_ports;
  const auto refused = [&](const char* what, const char* key) {
    return shown(ip, port) + " is " + what
           + ": no artifact is fetched from there without client.artifact." + key + " = true";
  };
  if (!reach_.agent && std::find(ports.begin(), ports.end(), port) != ports.end() && is_own(ip))
    return refused("the agent's own API", "allow_agent_api");
  const bool asks_names = port == name_port
                          && std::any_of(name_servers_.begin(), name_servers_.end(),
                                         [&](auto server) { return plain(server) == ip; });
  if (asks_names || port == 0) return {};
  if (!reach_.link_local && is_link_local(ip))
    return refused("a link-local address", "allow_link_local");
  if (!reach_.link_local && tells_keys(ip))
    return refused("where clouds tell machines their keys", "allow_link_local");
  if (!reach_.loopback && is_loopback(ip)) return refused("a loopback address", "allow_loopback");
  return {};
}

}  // namespace nomad::artifact
