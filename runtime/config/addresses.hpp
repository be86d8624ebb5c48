// What an agent listens on and advertises, completed from what its files and flags say.
#pragma once

#include "runtime/config/address_template.hpp"
#include "runtime/config/agent_config.hpp"

namespace nomad::config {

/// `base` with the templates in its addresses and its network interface replaced, and a bind_addr:
/// 0.0.0.0 as in Nomad where TLS secures all that listens, or the network is trusted; else
/// loopback, of which a warning tells if anything listens there. What listens on all addresses is
/// advertised by the first private one, or else public one. The error names the key.
Result<AgentConfig> with_addresses(AgentConfig base, const LocalAddresses& here);

}  // namespace nomad::config
