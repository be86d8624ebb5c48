// What must hold in Raft whatever comes in. A violation ends the process, in release builds too: a
// server that stops is repaired, one that goes on may lose data.
#pragma once

#include <stdexcept>
#include <string>

namespace nomad::raft {

/// A bug in this program. Nobody catches it below the actor that owns the core, which then stops
/// the server.
class InvariantViolated : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

/// `rule` is the sentence that does not hold.
inline void require(bool holds, const char* rule) {
  if (!holds) [[unlikely]]
    throw InvariantViolated{std::string{"raft invariant violated: "} + rule};
}

}  // namespace nomad::raft
