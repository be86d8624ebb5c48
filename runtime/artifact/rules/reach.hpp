// ReachJudge: which addresses an artifact is fetched from. Judged is the address that is connected
// to, whatever name, redirect or answer of a name server led there.
//
// Rules:
//   (1) The agent's own API: its ports at any address of this machine, or at one that it
//   advertises.
//       Refused unless allowed: who may name an artifact would read variables by it.
//   (2) Link-local addresses, and those where clouds tell machines their keys (with them by
//       IPv4 in IPv6, too). Refused unless allowed.
//   (3) Loopback. Allowed unless the configuration forbids it.
//   (4) But name servers of this machine are asked wherever they are, at port 53: without them no
//       name leads anywhere. And what connects to port 0 asks the kernel for a route, and nobody.
//
// Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

namespace nomad::artifact {

/// Which addresses may be connected to beside those that nobody minds.
struct Reach {
  bool loopback = true;
  bool link_local = false;
  bool agent = false;
  std::vector<std::uint16_t> agent_ports{};    ///< Of its API: HTTP, RPC, serf.
  std::vector<std::string> agent_addresses{};  ///< That lead to this machine from elsewhere.
};

/// Of IPv6; of IPv4 as ::ffff:a.b.c.d.
using IpBytes = std::array<std::uint8_t, 16>;

std::optional<IpBytes> ip_of(std::string_view text);

/// Nothing for sockets that are none of IP.
std::optional<IpBytes> ip_of(const sockaddr* address, std::size_t size);

/// The name servers that an /etc/resolv.conf says; without any the machine itself.
std::vector<IpBytes> name_servers_of(std::string_view resolv_conf);

class ReachJudge {
public:
  /// `of_machine`: the addresses of its interfaces. `name_servers`: that it asks.
  ReachJudge(const Reach& reach,
             std::vector<IpBytes> of_machine,
             std::vector<IpBytes> name_servers = {});

  /// Whether some address is refused at all.
  bool refuses_any() const { return !reach_.loopback || !reach_.link_local || !reach_.agent; }

  /// Why nobody connects there, in words; nothing: he may.
  std::optional<std::string> refuses(const sockaddr* address, std::size_t size) const;
  std::optional<std::string> refuses(IpBytes ip, std::uint16_t port) const;

private:
  bool is_own(const IpBytes& ip) const;

  Reach reach_;
  std::vector<IpBytes> own_;
  std::vector<IpBytes> name_servers_;
};

}  // namespace nomad::artifact
