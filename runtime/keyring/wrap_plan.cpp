#include "runtime/keyring/wrap_plan.hpp"

#include <algorithm>

namespace nomad::keyring {
namespace {

using From = PlannedWrap::From;

bool has(const std::vector<std::string>& names, std::string_view name) {
  return !name.empty() && std::find(names.begin(), names.end(), name) != names.end();
}

/// Of wrapping keys: of this server's, and of others while a holder can use one of them and not
/// that.
std::vector<PlannedWrap> wraps_of_keys(const WrapFacts& facts) {
  const bool has_own = facts.has_wrapped || has(facts.row, facts.wrapping_key);
  const auto is_needed = [&](const std::string& recipient) {
    return std::any_of(facts.holders.begin(), facts.holders.end(), [&](const Holder& holder) {
      return has(holder.opens, recipient) && !(has_own && has(holder.opens, facts.wrapping_key));
    });
  };
  std::vector<PlannedWrap> wraps;
  for (const auto& recipient : facts.row) {
    const bool is_own = recipient == facts.wrapping_key;
    if (!is_of_wrapping_key(recipient) || (is_own && facts.has_wrapped)) continue;
    if (!facts.leads || is_own || is_needed(recipient)) wraps.push_back({recipient});
  }
  if (facts.has_wrapped) wraps.push_back({facts.wrapping_key, From::wrapping_key});
  return wraps;
}

/// Whether it needs no wrap of its own.
bool is_served(const Holder& holder, const std::vector<PlannedWrap>& wraps) {
  return std::any_of(wraps.begin(), wraps.end(),
                     [&](const PlannedWrap& wrap) { return has(holder.opens, wrap.recipient); });
}

void keep_or_make(const WrapFacts& facts, PlannedWrap made, std::vector<PlannedWrap>& wraps) {
  if (has(facts.row, made.recipient)) made = {made.recipient};
  wraps.push_back(std::move(made));
}

void add_wraps_of_secrets(const WrapFacts& facts,
                          bool needs_none,
                          std::vector<PlannedWrap>& wraps) {
  std::vector<PlannedWrap> there;
  for (const auto& recipient : facts.row)
    if (is_of_secret(recipient)) there.push_back({recipient});
  if (needs_none && facts.leads) return;
  if (!facts.secret.empty() && !needs_none && (facts.leads || there.empty()))
    return keep_or_make(facts, {facts.secret, From::secret}, wraps);
  // What others share with a secret is not this server's to drop.
  wraps.insert(wraps.end(), there.begin(), there.end());
}

}  // namespace

bool is_of_wrapping_key(std::string_view recipient) {
  return recipient.starts_with("keyring ");
}

bool is_of_secret(std::string_view recipient) {
  return recipient.substr(0, recipient.find(' ')) == "encrypt";
}

WrapPlan plan_wraps(const WrapFacts& facts) {
  WrapPlan plan{.wraps = wraps_of_keys(facts)};
  const auto of_keys = plan.wraps;
  // Where the leader has no wrapping key that wraps, all are to do without one again.
  const bool leads_without = facts.leads && facts.wrapping_key.empty();
  bool all_served = !leads_without;
  for (std::size_t i = 0; i < facts.holders.size(); ++i) {
    const auto& holder = facts.holders[i];
    const bool served = !leads_without && is_served(holder, of_keys);
    all_served = all_served && served;
    if (!served)
      keep_or_make(facts, {holder.recipient, From::public_key, i}, plan.wraps);
    else if (!facts.leads && has(facts.row, holder.recipient))
      plan.wraps.push_back({holder.recipient});
  }
  add_wraps_of_secrets(facts, all_served && !of_keys.empty(), plan.wraps);
  plan.changes = plan.wraps.size() != facts.row.size()
                 || std::any_of(plan.wraps.begin(), plan.wraps.end(),
                                [](const PlannedWrap& wrap) { return wrap.from != From::row; });
  return plan;
}

}  // namespace nomad::keyring
