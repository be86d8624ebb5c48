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

class ReachJudge {
public:
  /// `of_machine`: the addresses of its interfaces.
  ReachJudge(const Reach& reach, std::vector<IpBytes> of_machine);

  /// Whether some address is refused at all.
  bool refuses_any() const { return !reach_.loopback || !reach_.link_local || !reach_.agent; }

  /// Why nobody connects there, in words; nothing: he may.
  std::optional<std::string> refuses(const sockaddr* address, std::size_t size) const;
  std::optional<std::string> refuses(IpBytes ip, std::uint16_t port) const;

private:
  bool is_own(const IpBytes& ip) const;

  Reach reach_;
  std::vector<IpBytes> own_;
};

}  // namespace nomad::artifact
