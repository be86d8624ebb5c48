// Explanation: why something is allowed or not: which rules decided, and which came close.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nomad::access {

/// A rule of a policy, and what it is to the question.
struct RuleNote {
  std::string policy = {};  ///< Its name.
  std::string rule = {};    ///< `namespace "prod-*" { policy = "read" }`
  std::uint32_t line = 0;   ///< In the policy's text; 0: it is of none.
  std::string note = {};    ///< "has submit-job, but matches the name less closely"
};

struct Explanation {
  bool is_allowed = false;
  std::string reason = {};              ///< A sentence.
  std::vector<RuleNote> deciding = {};  ///< Of one name or pattern, of all policies that have it.
  std::vector<RuleNote> close = {};     ///< The closest first.

  /// Of each of the two lists.
  static constexpr std::size_t max_notes = 20;
};

}  // namespace nomad::access
