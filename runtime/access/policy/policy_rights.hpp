// PolicyRights: what a set of policies gives together, compiled once for all who have it.
//
// Of names and patterns as RuleTable has it. Of agents, nodes, operators, quotas and plugins the
// highest level of all policies counts, but that one that denies leaves nothing. A workload has
// besides what is its own: it lists and reads its variables unless a rule names their path, and the
// services of its namespace unless the rule for that denies.
//
// Jobs may run in every node pool but those that a rule denies, as RuleTable chooses it. The pool
// "all" has the nodes of every other one, so that it is denied as soon as any pool is.
//
// A namespace or node pool "*" is that of a question about any of them, of which each that is found
// is judged anew. Only what lists or reads may ask so; all else asks of one that is named so.
//
// Pure; thread-safe. A look-up allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/access/policy/policy.hpp"
#include "runtime/access/policy/rule_table.hpp"
#include "runtime/access/policy/rules.hpp"

namespace nomad::access {

class Policy {
public:
  Policy(std::string_view read_text, Rules read_rules)
      : text{read_text}, rules{std::move(read_rules)} {}

  const std::string text;
  const Rules rules;
};

/// The levels of a block without a name, least first.
enum class AccessLevel : std::uint8_t { none, list, read, write, deny };

/// Blocks without a name, in the order of `level_blocks`.
inline constexpr std::size_t level_block_count = 5;

struct LevelBlock {
  std::string_view keyword;
  std::optional<LevelRule> Rules::*rule;
};

inline constexpr std::array<LevelBlock, level_block_count> level_blocks{{
    {"agent", &Rules::agent},
    {"node", &Rules::node},
    {"operator", &Rules::cluster},
    {"quota", &Rules::quota},
    {"plugin", &Rules::plugin},
}};

/// What a capability is looked up by.
struct RuleQuestion {
  enum class Of : std::uint8_t { nothing, table, level, services, pool_use };

  Of of = Of::nothing;
  RuleScope scope = RuleScope::namespaces;    ///< The table.
  RuleKey key = {};                           ///< In it.
  bool is_any = false;                        ///< Of any of the table.
  CapabilitySet wanted = 0;                   ///< One of them is enough.
  std::size_t block = 0;                      ///< The level's block.
  AccessLevel at_least = AccessLevel::write;  ///< The level.
};

RuleQuestion question_of(Capability needed, const Target& target);

AccessLevel level_of(std::string_view word);

class PolicyRights final : public Rights {
public:
  PolicyRights(std::vector<NamedPolicy> policies, const ImplicitRights* workload);

  const std::vector<NamedPolicy>& policies() const { return policies_; }

  const ImplicitRights* workload() const { return workload_ ? &*workload_ : nullptr; }

  const RuleTable& table(RuleScope scope) const { return tables_[static_cast<std::size_t>(scope)]; }

  AccessLevel level(std::size_t block) const { return levels_[block]; }

  /// Whether it is one of the workload's own variables, which it reads with no rule.
  bool is_own_variable(const RuleKey& key) const;

  /// The entry that keeps jobs out of that node pool; null: none does.
  const RuleTable::Entry* denying_pool(std::string_view pool) const;

  /// The entry that is for the key; null where there is none, or the workload needs none.
  const RuleTable::Entry* entry_for(RuleScope scope, const RuleKey& key) const;

private:
  bool decide(Capability needed, const Target& target) const override;
  bool allows_services(const RuleQuestion& question) const;
  void add(std::uint32_t position, const Rules& rules);

  std::vector<NamedPolicy> policies_;  ///< In order of names.
  std::optional<ImplicitRights> workload_;
  std::array<RuleTable, 4> tables_;
  std::array<AccessLevel, level_block_count> levels_{};
};

}  // namespace nomad::access
