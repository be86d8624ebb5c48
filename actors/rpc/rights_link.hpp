// Access.Resolve: what a token gives, asked by a process that does not know tokens of a server that
// does. Both ends of it: the token is that of the request, so whoever is let in by it can be told.
// Rights travel as the policies that they are made of, in their own words, and are made anew: one
// that cannot be read here might forbid something, so then nothing is allowed. Servers that have
// ACLs off say nothing of tokens: who asks has them on, and allows nothing until the servers do.
//
// Threads: the link's look-ups come on any thread and are answered on a gateway's. A server that
// cannot be reached is one try; when no server has answered in time the look-up fails: as
// `unavailable` if none was there, or none leads, so that what was known may count.
//
// Owns:   a gateway that carries the questions.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/core/asker.hpp"
#include "actors/rpc/router.hpp"
#include "runtime/access/authenticator.hpp"

namespace nomad::rpc {

/// A server's end.
void serve_rights(MethodRouter& router);

struct RightsLinkOptions {
  std::string region;

  /// The servers that can be asked, the best first. Thread-safe and quick.
  std::function<std::vector<std::string>()> servers;
  std::chrono::milliseconds patience{2'000};  ///< With one server.
  unsigned most_tries = 3;
};

/// The asker's end.
class RightsLink {
public:
  RightsLink(const actor::Owner& owner, RightsLinkOptions options);

  /// Before it every look-up fails.
  void open(const CallTransport& transport) const;
  void stop() const;

  /// For an Authenticator, which may outlive this.
  access::Lookup lookup() const;

private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace nomad::rpc
