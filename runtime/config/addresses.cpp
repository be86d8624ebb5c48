#include "runtime/config/addresses.hpp"

#include <fmt/format.h>

namespace nomad::config {
namespace {

Result<> expand(std::string_view key, std::string& text, const LocalAddresses& here) {
  text = NOMAD_TRY(expand_address(text, here).within(key));
  return {};
}

void choose_bind_address(AgentConfig& config) {
  const auto& own = config.addresses;
  const bool is_used
      = own.http.empty() || (config.server.enabled && (own.rpc.empty() || own.serf.empty()));
  const bool is_secured = config.tls.http && (config.tls.rpc || !config.server.enabled);
  const bool is_open = is_secured || config.allow_unsafe_bind;
  config.bind_addr = is_open ? "0.0.0.0" : "127.0.0.1";
  if (is_used && !is_open)
    config.warnings.emplace_back(
        "bind_addr: not set, and without TLS: listening on 127.0.0.1 alone, where no other machine "
        "reaches this agent; set tls, or bind_addr and allow_unsafe_bind = true if the network is "
        "trusted");
}

/// The address that others reach what listens on all at: the first private one, or else public one,
/// of the families that it listens on. Empty if there is none.
std::string reachable_address(bool is_ipv4_only, const LocalAddresses& here) {
  for (const auto* source : {"GetPrivateInterfaces", "GetPublicInterfaces"}) {
    const auto found
        = expand_address(fmt::format(R"({{{{ {} | include "type" "{}" | attr "address" }}}})",
                                     source, is_ipv4_only ? "ipv4" : "ip"),
                         here);
    if (found) return *found;
  }
  return {};
}

/// Leaves empty what cannot be found.
void choose_advertised(AgentConfig& config, const LocalAddresses& here) {
  const auto& listen = config.addresses;
  auto& shown = config.advertise;
  for (const auto& [own, advertised] :
       {std::pair{&listen.http, &shown.http}, std::pair{&listen.rpc, &shown.rpc},
        std::pair{&listen.serf, &shown.serf}}) {
    const auto& address = own->empty() ? config.bind_addr : *own;
    if (!advertised->empty() || (address != "0.0.0.0" && address != "::")) continue;
    *advertised = reachable_address(address == "0.0.0.0", here);
  }
}

}  // namespace

Result<AgentConfig> with_addresses(AgentConfig base, const LocalAddresses& here) {
  const std::pair<std::string_view, std::string*> texts[]
      = {{"bind_addr", &base.bind_addr},
         {"addresses.http", &base.addresses.http},
         {"addresses.rpc", &base.addresses.rpc},
         {"addresses.serf", &base.addresses.serf},
         {"advertise.http", &base.advertise.http},
         {"advertise.rpc", &base.advertise.rpc},
         {"advertise.serf", &base.advertise.serf},
         {"client.network_interface", &base.client.network_interface}};
  for (const auto& [key, text] : texts)
    NOMAD_TRY(expand(key, *text, here));
  if (base.bind_addr.empty()) choose_bind_address(base);
  choose_advertised(base, here);
  return base;
}

}  // namespace nomad::config
