// Keeps pages in browsers from acting through an agent that a user's machine runs: loopback is no
// wall for them. A page of any site may send simple requests to 127.0.0.1, and a name of its own
// that it points there makes it of one origin with the agent (DNS rebinding), so that it may read
// answers, too.
//
// Programs send neither Origin nor Sec-Fetch-Site, and name the agent by its address or a name that
// it is configured with. Nor do browsers with a GET for an address that they don't trust, plain
// HTTP beyond loopback: they are known by their User-Agent, which no page may change unasked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/http/http_message.hpp"

namespace nomad::net {

struct HostRules {
  /// Only IP literals, "localhost", `advertised` and `names` are taken as Host; else whatever is
  /// sent. Unix sockets, which browsers cannot open, take all.
  bool known_only = false;

  /// Hosts without ports, in any case. A page of one of them may also act: a proxy may pass its
  /// requests on under a Host of its own.
  std::vector<std::string> names = {};

  /// The hosts by which the agent is known to others. One may be this machine's, whose other ports
  /// serve pages of their own: so they give no page a right.
  std::vector<std::string> advertised = {};
};

/// Why a request that comes from its client is refused, in words for an answer of status 403;
/// nothing for one that may go on. `acts`: it may change something, or change the protocol.
std::optional<std::string> refuse_page(const Request& request, const HostRules& rules, bool acts);

}  // namespace nomad::net
