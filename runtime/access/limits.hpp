// Limits: what a caller is kept to, whatever his credentials give him, as a plugin is kept to what
// its block of the agent's configuration says. They go with a request to every agent that serves a
// part of it. They only take away: whoever says to have some has no more than before, so they need
// no proof.
//
// As words: the names of capabilities ("submit-job", as in Nomad's policies; for nodes, agents,
// pools and operators "node-read", "operator-write", …; "management" is everything),
// "namespace:<name>" for each namespace that those of namespaces are for (none: all of them), and
// "node:<id>" for the node that may be read with no capability at all. Pools to run jobs in are not
// limited: what takes them away are rules (PolicyRights).
//
// Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/capability.hpp"
#include "runtime/access/rights.hpp"
#include "runtime/base/result.hpp"

namespace nomad::access {

class Limits {
public:
  /// Nothing is left.
  Limits() = default;

  /// Of words with spaces between them; `invalid_argument` names one that is none.
  static Result<Limits> read(std::string_view words);

  bool allow(Capability needed, const Target& target) const;

  /// What he hears who is kept from it, with the word that it takes.
  static Error refusal(Capability needed, const Target& target);

  /// The words again.
  const std::string& text() const { return text_; }

private:
  Result<> add(std::string_view word);
  bool has(Capability capability) const;

  CapabilitySet capabilities_ = 0;
  std::vector<std::string> namespaces_{};
  std::string node_{};
  std::string text_{};
};

}  // namespace nomad::access
