// Credentials: what a request shows to prove who asks. Whoever takes a request in reads them and
// gives them to the Authenticator (authenticator.hpp), which alone makes an identity of them.
#pragma once

#include <optional>
#include <string>

#include "runtime/access/caller.hpp"
#include "runtime/base/secret.hpp"

namespace nomad::access {

/// The secrets of one request. They go with it unchanged when it is forwarded.
struct Credentials {
  std::string token = {};    ///< A user's, or one that was signed for a task; empty: none.
  std::string node_id = {};  ///< Who the node is that says to know `node_secret`.
  std::string node_secret = {};
  std::string limits
      = {};  ///< The words of `Limits` that he is kept to; empty: nothing takes away.
};

/// What a request and its connection show.
struct Presented {
  std::string remote = {};  ///< The address at the other end of the connection.

  /// What the connection proves of the process at the other end; none: a user of the HTTP API.
  std::optional<PeerIdentity> peer = {};
  Credentials credentials = {};
  std::string first_remote = {};  ///< Of whom a server says to have it; believed of servers only.

  /// Nobody may come without a token here, whatever is allowed to everyone: the socket of a task.
  bool needs_token = false;
};

}  // namespace nomad::access
