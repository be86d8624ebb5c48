// RuleTable: what the rules of several policies give for one kind of name, and which of them is for
// a name: the one that has the name itself, or else the pattern that matches most closely.
//
//   (1) Rules with the same name or pattern are united; if any of them denies, nothing is left of
//       all. So the order in which they come is of no matter, nor how often.
//   (2) Rules with different names or patterns are never united: the one that is chosen decides,
//       also where another would give more.
//   (3) The closest pattern is the one with most characters that are no `*`. Of several the last in
//       the order of their bytes is chosen.
//
// A key has two parts, of which one may be empty: a variable's are its namespace and its path, and
// both count for how close a pattern is. No `*` reaches from one into the other.
//
// The state's keys have null characters between their parts, so that what has one in it is a name
// of nothing, as what has no name is: no pattern is for it, or a namespace "prod\0web" would be
// judged by the pattern "*" and found in "prod", which a rule of its own denies.
//
// Pure; immutable once it is sealed. A look-up allocates nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/access/policy/rules.hpp"

namespace nomad::access {

/// The parts are views into rules that outlive the table.
struct RuleKey {
  std::string_view name = {};
  std::string_view path = {};

  friend auto operator<=>(const RuleKey&, const RuleKey&) = default;
};

/// Whether a rule with the name or pattern `pattern` is one for `key`. Never for one without a
/// name, or with a null character.
bool matches(const RuleKey& pattern, const RuleKey& key);

/// Where a rule stands.
struct RuleSource {
  std::uint32_t policy = 0;  ///< Its place in the set.
  const BlockRule* block = nullptr;
  const PathRule* path = nullptr;  ///< Of variables.
};

class RuleTable {
public:
  struct Entry {
    RuleKey key;
    std::uint32_t closeness = 0;  ///< Of a pattern.
    CapabilitySet given = 0;      ///< By all, also where one denies.
    std::vector<RuleSource> sources = {};

    bool is_denied() const { return (given & deny_bit) != 0; }

    CapabilitySet effective() const { return is_denied() ? 0 : given; }
  };

  void add(RuleKey key, CapabilitySet given, RuleSource source);

  /// After the last `add`, and before the first look-up.
  void seal();

  /// The entry of exactly this key; null: there is none.
  const Entry* exact(RuleKey key) const;

  /// The closest of the patterns that match; null: none does.
  const Entry* closest(RuleKey key) const;

  /// What any of the entries gives.
  CapabilitySet any() const { return any_; }

  /// In order of names.
  const std::vector<Entry>& names() const { return names_; }

  /// The closest first.
  const std::vector<Entry>& patterns() const { return patterns_; }

private:
  std::vector<Entry> names_;
  std::vector<Entry> patterns_;
  CapabilitySet any_ = 0;
};

}  // namespace nomad::access
