// Policies: what an ACL policy's rules say, in HCL or JSON, and what several of them give together.
// A policy is read once and shared; rights are made of a set of them (policy_rights.hpp), and kept
// by RightsCache (rights_cache.hpp).
//
// May depend on: runtime/base, runtime/access, the syntax of runtime/hcl. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/explanation.hpp"
#include "runtime/access/rights.hpp"
#include "runtime/base/result.hpp"

namespace nomad::access {

/// The rules of one policy as they were written, and what was read from them. Immutable.
class Policy;
using PolicyRef = std::shared_ptr<const Policy>;

/// Longest text of a policy, and most rules in one: a rule is a block, or a path of variables.
inline constexpr std::size_t max_policy_bytes = std::size_t{512} << 10U;
inline constexpr std::size_t max_policy_rules = 10'000;

/// Where a text comes from: `written` now, and judged strictly, or `stored`, by an older release
/// perhaps, whose rights and denials an upgrade must not drop (rules_reader.hpp).
enum class PolicyText : std::uint8_t { written, stored };

/// Of HCL or JSON. The error begins with the words that Nomad has for it, and says then where it is
/// and what may have been meant.
Result<PolicyRef> read_policy(std::string_view rules, PolicyText kind = PolicyText::stored);

/// The text that the policy was read from.
const std::string& rules_text(const Policy& policy);

/// What the API shows as `RulesJSON`.
std::string rules_json(const Policy& policy);

struct NamedPolicy {
  std::string name;
  std::uint64_t modify_index = 0;
  PolicyRef policy;
};

/// What a workload may do with no policy: read the variables that are its own, and the services of
/// its namespace.
struct ImplicitRights {
  std::string ns;
  std::string job_id;  ///< The parent's, of a child.
  std::string group;
  std::string task;

  friend bool operator==(const ImplicitRights&, const ImplicitRights&) = default;
};

/// What all of `policies` give together. Of two with one name the later one counts. If one of them
/// is null, because its text could not be read, nothing is given: what it denies is not known.
RightsRef rights_of(std::vector<NamedPolicy> policies, const ImplicitRights* workload = nullptr);

/// The policies that rights are made of, by name, for another agent to make the same; empty where
/// they are made of none.
const std::vector<NamedPolicy>& policies_of(const Rights& rights);

/// The workload whose implicit rights are in it; null: none's.
const ImplicitRights* workload_of(const Rights& rights);

/// What `rights` say of it, and why.
Explanation explain(const Rights& rights, Capability needed, const Target& target);

}  // namespace nomad::access
