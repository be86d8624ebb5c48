// Why rights allow something or not: the tables of PolicyRights are read again, with the rules that
// each entry is made of. The look-up that decides keeps no trace, and so pays nothing for this.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "runtime/access/policy/policy_rights.hpp"
#include "runtime/base/similar_name.hpp"
#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/text.hpp"

namespace nomad::access {
namespace {

using Of = RuleQuestion::Of;
using Entry = RuleTable::Entry;

constexpr std::array noun_of_scope{"namespace", "node pool", "host volume", "variable"};

std::string name_of(RuleScope scope, const RuleKey& key) {
  auto out = std::string{noun_of_scope[static_cast<std::size_t>(scope)]} + ' ';
  if (scope != RuleScope::variables) return out + quote(key.name);
  return out + quote(key.path) + " in namespace " + quote(key.name);
}

std::string rule_for(RuleScope scope, const RuleKey& key) {
  return "the rule for " + name_of(scope, key);
}

class Explainer {
public:
  Explainer(const PolicyRights& rights, Capability needed, const Target& target)
      : rights_{rights},
        word_{word_of(needed)},
        question_{question_of(needed, target)},
        is_allowed_{rights.allow(needed, target)} {}

  Explanation explain() {
    out_.is_allowed = is_allowed_;
    if (question_.of == Of::nothing)
      out_.reason = is_allowed_ ? "everyone may do that" : "it takes a management token";
    else if (question_.of == Of::level)
      explain_level();
    else if (question_.of == Of::pool_use)
      explain_pool_use();
    else if (question_.is_any)
      explain_any();
    else
      explain_key();
    for (auto* notes : {&out_.deciding, &out_.close})
      if (notes->size() > Explanation::max_notes) notes->resize(Explanation::max_notes);
    return std::move(out_);
  }

private:
  const RuleTable& table() const { return rights_.table(question_.scope); }

  bool gives(CapabilitySet given) const { return (given & question_.wanted) != 0; }

  RuleNote note_of(const RuleSource& source, std::string note = {}) const {
    RuleNote out{.policy = rights_.policies()[source.policy].name, .note = std::move(note)};
    out.rule = source.path != nullptr ? text_of(*source.block, *source.path)
                                      : text_of(question_.scope, *source.block);
    out.line = source.path != nullptr ? source.path->line : source.block->line;
    return out;
  }

  static CapabilitySet given_by_source(const RuleSource& source) {
    return source.path != nullptr ? source.path->given : source.block->given;
  }

  static constexpr std::size_t most_compared = 1'000;

  /// The rules of an entry that say what it says as a whole.
  void add_deciding(const Entry& entry) {
    for (const auto& source : entry.sources) {
      if (out_.deciding.size() >= Explanation::max_notes) return;
      const auto given = given_by_source(source);
      const bool speaks = entry.is_denied()    ? (given & deny_bit) != 0
                          : gives(entry.given) ? gives(given)
                                               : true;
      if (speaks) out_.deciding.push_back(note_of(source));
    }
  }

  std::string verdict_of(const Entry& entry) const {
    if (entry.is_denied()) return "denies";
    return (gives(entry.given) ? "gives " : "does not give ") + word_;
  }

  // -- names and patterns

  void explain_key() {
    const auto* const entry = rights_.entry_for(question_.scope, question_.key);
    const bool is_own = question_.scope == RuleScope::variables && entry == nullptr
                        && rights_.is_own_variable(question_.key);
    const bool is_by_rule = entry != nullptr && gives(entry->effective());
    if (is_own)
      out_.reason = "the variable is the workload's own, which it may list and read";
    else if (question_.of == Of::services && is_allowed_ && !is_by_rule)
      out_.reason = "a workload may read the services of its namespace";
    else if (entry == nullptr)
      out_.reason = "no rule is for " + name_of(question_.scope, question_.key);
    else
      out_.reason = rule_for(question_.scope, entry->key) + ' ' + verdict_of(*entry);
    if (entry != nullptr) add_deciding(*entry);
    add_less_close(entry, is_own);
    if (!is_allowed_) add_of_others();
  }

  /// Other patterns that match, which were not the closest.
  void add_less_close(const Entry* chosen, bool is_own) {
    for (const auto& pattern : table().patterns()) {
      if (&pattern == chosen || !matches(pattern.key, question_.key)) continue;
      if (out_.close.size() >= Explanation::max_notes) return;
      const auto why = is_own ? std::string{"the workload's own right comes before it"}
                              : "but " + rule_for(question_.scope, chosen->key) + " is closer";
      add_close(pattern, verdict_of(pattern) + ", " + why);
    }
  }

  /// Rules that would give it, but for something else; those with a like name first.
  void add_of_others() {
    std::vector<std::pair<bool, const Entry*>> others;
    for (const auto* entries : {&table().names(), &table().patterns()})
      for (const auto& entry : *entries)
        if (others.size() < most_compared && gives(entry.effective())
            && !matches(entry.key, question_.key))
          others.emplace_back(!is_like(entry.key), &entry);
    sort_stably(others, {}, &std::pair<bool, const Entry*>::first);
    for (const auto& [is_unlike, entry] : others)
      add_close(*entry, verdict_of(*entry) + ", but for another name");
  }

  bool is_like(const RuleKey& key) const {
    return (key.name == question_.key.name || !closest_name(question_.key.name, {key.name}).empty())
           && (key.path == question_.key.path
               || !closest_name(question_.key.path, {key.path}).empty());
  }

  void add_close(const Entry& entry, const std::string& note) {
    for (const auto& source : entry.sources) {
      if (out_.close.size() >= Explanation::max_notes) return;
      out_.close.push_back(note_of(source, note));
    }
  }

  void explain_any() {
    const std::string noun = noun_of_scope[static_cast<std::size_t>(question_.scope)];
    out_.reason
        = is_allowed_ ? word_ + " is given for some " + noun : word_ + " is given for no " + noun;
    for (const auto* entries : {&table().names(), &table().patterns()})
      for (const auto& entry : *entries)
        if (gives(entry.effective())) add_deciding(entry);
  }

  // -- pools that jobs run in

  void explain_pool_use() {
    const auto name = name_of(question_.scope, question_.key);
    const auto* const denying = rights_.denying_pool(question_.key.name);
    const auto* const own = rights_.entry_for(question_.scope, question_.key);
    if (denying == nullptr)
      out_.reason = is_allowed_ ? "no rule denies " + name : "there is no " + name;
    else if (denying == own)
      out_.reason = rule_for(question_.scope, denying->key) + " denies";
    else
      out_.reason = name + " has the nodes of every pool, and "
                    + rule_for(question_.scope, denying->key) + " denies";
    if (const auto* const shown = denying != nullptr ? denying : own; shown != nullptr)
      add_deciding(*shown);
  }

  // -- levels

  void explain_level() {
    const auto& block = level_blocks[question_.block];
    const auto level = rights_.level(question_.block);
    const auto keyword = std::string{block.keyword};
    if (level == AccessLevel::none)
      out_.reason = "no rule is for " + quote(keyword);
    else if (level == AccessLevel::deny)
      out_.reason = "a rule for " + quote(keyword) + " denies";
    else
      out_.reason = "the highest level for " + quote(keyword)
                    + (is_allowed_ ? " gives " : " does not give ") + word_;
    for (const auto& policy : rights_.policies()) {
      const auto& rule = policy.policy->rules.*block.rule;
      if (!rule) continue;
      RuleNote note{.policy = policy.name, .rule = text_of(block.keyword, *rule)};
      note.line = rule->line;
      const bool decides = level_of(rule->level) == level;
      if (!decides) note.note = "another policy has a level that counts more";
      (decides ? out_.deciding : out_.close).push_back(std::move(note));
    }
  }

  const PolicyRights& rights_;
  const std::string word_;
  const RuleQuestion question_;
  const bool is_allowed_;
  Explanation out_;
};

}  // namespace

Explanation explain(const Rights& rights, Capability needed, const Target& target) {
  Explanation out{
      .is_allowed = rights.allow(needed, target), .reason = {}, .deciding = {}, .close = {}};
  switch (rights.form()) {
    case Rights::Form::nothing:
      out.reason = "no policy gives anything";
      return out;
    case Rights::Form::everything:
      out.reason = "a management token may do everything";
      return out;
    case Rights::Form::rule:
      out.reason = "no policy decides";
      return out;
    case Rights::Form::policies:
      break;
  }
  return Explainer{static_cast<const PolicyRights&>(rights), needed, target}.explain();
}

}  // namespace nomad::access
