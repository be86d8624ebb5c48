// Rules of iptables around allocations' networks: the one that lets traffic in, and the removal of
// what plugins left behind. Pure; iptables of both kinds (nf_tables and legacy) speak these texts.
//
// May depend on: runtime/base.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/network/cni_config.hpp"

namespace nomad::network {

/// `<verb> NOMAD-ADMIN` with the rule that accepts what goes to the bridge's network; "-C" asks
/// whether it is there, "-A" adds it.
std::vector<std::string> admin_rule(std::string_view verb, const BridgeOptions& bridge);

/// What `iptables-restore --noflush` is to read so that nothing is left of an allocation in what
/// `iptables-save` has written: rules that name its id in their comment or its addresses as a
/// whole, and the chains of its own that they lead to. Empty if there is nothing.
std::string rules_removal(std::string_view saved,
                          std::string_view alloc_id,
                          const std::vector<std::string>& addresses);

}  // namespace nomad::network
