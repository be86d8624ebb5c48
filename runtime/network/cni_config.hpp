// CNI networks as their configurations say: a list of plugins that are called one after the other.
// Pure: texts in, values out. Source: the CNI specification, versions 0.3.0 to 1.0.0.
//
// May depend on: runtime/base.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::network {

/// One plugin of a list.
struct CniPlugin {
  std::string type;    ///< The name of its program.
  std::string config;  ///< A JSON object, as the configuration has it.
};

/// A network's configuration.
struct CniNetwork {
  std::string name;
  std::string version = "0.4.0";  ///< Of the specification that its plugins are spoken to by.
  bool disable_check = false;     ///< CHECK would not tell the truth.
  std::vector<CniPlugin> plugins;

  /// Whether CHECK can be asked: it came with version 0.4.0.
  bool can_check() const;
};

/// The file of a list (`*.conflist`) or, without `is_list`, of a single plugin. `invalid_argument`
/// says what is wrong with it.
Result<CniNetwork> parse_cni_network(std::string_view text, bool is_list);

/// The network `name` among files of a directory, which are taken in the order of their names;
/// `files` are names and contents. One that can't be read is an error if it stands before the one
/// that is looked for. `not_found` names the directory.
Result<CniNetwork> find_cni_network(std::vector<std::pair<std::string, std::string>> files,
                                    std::string_view name,
                                    std::string_view directory);

/// Whether a file of this name holds a network's configuration.
bool is_cni_config(std::string_view file_name);

/// What the configuration of the agent says of the bridge mode.
struct BridgeOptions {
  std::string name = "nomad";
  std::string subnet = "172.26.64.0/20";
  bool hairpin_mode = false;

  bool operator==(const BridgeOptions&) const = default;
};

/// The chain of iptables in which traffic to allocations is let in before others judge it.
inline constexpr std::string_view admin_chain = "NOMAD-ADMIN";

/// The plugins of the bridge mode in their order.
inline constexpr std::string_view bridge_plugins[] = {"loopback", "bridge", "firewall", "portmap"};

/// The list of the bridge mode, the same as Nomad's.
std::string bridge_config(const BridgeOptions& options);

}  // namespace nomad::network
