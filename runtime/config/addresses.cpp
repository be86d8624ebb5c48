#include "runtime/config/addresses.hpp"

#include <fmt/format.h>

namespace nomad::config {

Result<AgentConfig> with_addresses(AgentConfig base, const LocalAddresses& here) {
  const std::pair<std::string_view, std::string*> texts[]
      = {{"bind_addr", &base.bind_addr},           {"addresses.http", &base.addresses.http},
         {"addresses.rpc", &base.addresses.rpc},   {"addresses.serf", &base.addresses.serf},
         {"advertise.http", &base.advertise.http}, {"advertise.rpc", &base.advertise.rpc},
         {"advertise.serf", &base.advertise.serf}};
  for (const auto& [key, text] : texts) {
    auto expanded = expand_address(*text, here);
    if (!expanded)
      return Error{Errc::invalid_argument, fmt::format("{}: {}", key, expanded.error().what)};
    *text = std::move(*expanded);
  }
  if (!base.bind_addr.empty()) return base;
  const bool is_secured = base.tls.http && (base.tls.rpc || !base.server.enabled);
  base.bind_addr = is_secured || base.allow_unsafe_bind ? "0.0.0.0" : "127.0.0.1";
  if (base.bind_addr == "127.0.0.1")
    base.warnings.emplace_back(
        "bind_addr: not set, and without TLS: listening on 127.0.0.1 alone, where no other machine "
        "reaches this agent; set tls, or bind_addr and allow_unsafe_bind = true if the network is "
        "trusted");
  return base;
}

}  // namespace nomad::config
