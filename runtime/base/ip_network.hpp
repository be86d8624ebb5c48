// IP addresses, networks and routes as texts. Pure: what does not parse is no address, in no
// network and no route.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nomad {

/// An IPv4 or IPv6 address without a zone as its 4 or 16 bytes, the highest first; empty if it is
/// none.
std::string ip_bytes(std::string_view address);

bool is_ip_address(std::string_view text);

/// Whether `host` names this machine and no other: 127.0.0.0/8, ::1 or "localhost", in any case.
bool is_loopback(std::string_view host);

struct IpNetwork {
  std::string bytes;  ///< As ip_bytes has the address before the slash.
  unsigned prefix = 0;

  /// Whether the address is of the same family and begins with the same bits.
  bool contains(std::string_view address) const;
};

/// "10.0.0.0/8"; the prefix is no longer than the address.
std::optional<IpNetwork> parse_ip_network(std::string_view text);

/// Whether `address` lies in one of the comma-separated networks.
bool in_networks(std::string_view address, std::string_view networks);

/// The interface of the default route with the smallest metric: of /proc/net/route, then of
/// /proc/net/ipv6_route. Empty without one.
std::string parse_default_route(std::string_view route, std::string_view ipv6_route);

}  // namespace nomad
