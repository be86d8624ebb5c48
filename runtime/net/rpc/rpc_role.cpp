// What a peer's certificate says against its claims.
#include <algorithm>

#include "runtime/net/rpc/rpc_link.hpp"

namespace nomad::net {

std::string certificate_name(RpcRole role, std::string_view region) {
  return (role == RpcRole::server ? "server." : "client.") + std::string{region} + ".nomad";
}

Result<> check_claims(const RpcPeer& peer, bool verify_role, std::string_view own_region) {
  const auto refuse = [](std::string what) {
    return Error{Errc::permission_denied, std::move(what)};
  };
  const auto& hello = peer.hello;
  if (hello.role == RpcRole::client && hello.region != own_region)
    return refuse("a client of region \"" + hello.region + "\" where this is \""
                  + std::string{own_region} + '"');
  if (hello.role == RpcRole::client && hello.for_raft) return refuse("a client that speaks Raft");
  if (!peer.is_tls) return {};
  const auto wanted = certificate_name(hello.role, hello.region);
  if (peer.certificate.has(wanted)) return {};
  const auto names_role = [&](std::string_view prefix) {
    return std::any_of(
        peer.certificate.names.begin(), peer.certificate.names.end(),
        [&](const auto& name) { return name.starts_with(prefix) && name.ends_with(".nomad"); });
  };
  // Also a certificate of a server of another region: what servers of one region may do among each
  // other is not for those.
  const bool is_for_other
      = hello.role == RpcRole::server && (names_role("client.") || names_role("server."));
  if (verify_role || is_for_other) {
    std::string names;
    for (const auto& name : peer.certificate.names)
      names += (names.empty() ? "" : ", ") + name;
    return refuse("its certificate is for " + (names.empty() ? "nobody" : names) + ", not for "
                  + wanted);
  }
  return {};
}

}  // namespace nomad::net
