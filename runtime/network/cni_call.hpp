// Calls of CNI plugins: what a program gets as environment and input, and what it answers. Pure.
//
// May depend on: runtime/base.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/network/cni_config.hpp"
#include "runtime/network/port_mappings.hpp"

namespace nomad::network {

enum class CniVerb : std::uint8_t { add, check, del };

std::string_view to_string(CniVerb verb);  ///< "ADD"

/// Whose network it is.
struct CniTarget {
  std::string container_id;    ///< The allocation's id.
  std::string namespace_path;  ///< Empty for a DEL of one that is gone.
  std::string interface = "eth0";
  std::string wanted_ip{};  ///< The address that it had and is to have again; empty: any.
};

/// The whole environment of the program, "NAME=value". `plugin_path` are directories separated by
/// colons, in which plugins find others.
std::vector<std::string> cni_environment(CniVerb verb,
                                         const CniTarget& target,
                                         std::string_view plugin_path);

/// What it reads: its own configuration with the network's name and version, the port mappings if
/// it has that capability, and the result of the plugins before it, a JSON object, if there is one.
Result<std::string> cni_input(const CniNetwork& network,
                              const CniPlugin& plugin,
                              const std::vector<PortMapping>& mappings,
                              std::string_view previous);

// -- answers -------------------------------------------------------------------------------------

struct CniInterface {
  std::string name;
  std::string mac;
  std::string sandbox;  ///< Empty: of the host.
};

struct CniAddress {
  std::string address;  ///< "172.26.64.2"
  std::optional<std::size_t> interface {};
};

/// What a plugin has made, whatever version it speaks.
struct CniResult {
  std::vector<CniInterface> interfaces;
  std::vector<CniAddress> addresses;
  std::vector<std::string> dns_servers;
  std::vector<std::string> dns_searches;
  std::vector<std::string> dns_options;
};

/// A result of version 0.1.0 to 1.0.0. `invalid_argument` if it is none.
Result<CniResult> parse_cni_result(std::string_view text);

/// Where an allocation is reached in its own network.
struct NetworkStatus {
  std::string interface;
  std::string address;
  std::vector<std::string> dns_servers{};
  std::vector<std::string> dns_searches{};
  std::vector<std::string> dns_options{};

  bool operator==(const NetworkStatus&) const = default;
};

/// Chosen as Nomad does: of the interfaces in the order of their names the first that is in a
/// sandbox and has an address, else the first with an address. Addresses of no interface are
/// `eth0`'s.
Result<NetworkStatus> status_of(const CniResult& result);

/// Why a plugin failed.
struct CniError {
  enum class Cause {
    other,
    ipv4_unchecked,  ///< The plugin portmap could not read the rules of IPv4.
    ipv6_unchecked,  ///< The same of IPv6.
  };

  Cause cause = Cause::other;
  /// What the specification says of the plugin's code decides the error's: `unavailable` may pass
  /// when it is tried again.
  Error error;
};

CniError cni_failure(std::string_view plugin,
                     CniVerb verb,
                     int exit_code,
                     std::string_view output,
                     std::string_view errors);

}  // namespace nomad::network
