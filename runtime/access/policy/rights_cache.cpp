#include "runtime/access/policy/rights_cache.hpp"

#include <algorithm>
#include <utility>

#include "runtime/access/policy/policy_rights.hpp"
#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::access {
namespace {

void append_text(std::string& out, std::string_view text) {
  out += std::to_string(text.size()) + ':';
  out += text;
}

void append_bytes(std::string& out, const auto& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// What the set is made of. A policy's address is of no other as long as a set that is kept has it.
std::string key_of(const std::vector<NamedPolicy>& policies, const ImplicitRights* workload) {
  std::string key;
  for (const auto& [name, modify_index, policy] : policies) {
    append_bytes(key, modify_index);
    append_bytes(key, policy.get());
    append_text(key, name);
  }
  if (workload != nullptr) {
    key += "of:";
    for (const auto* part : {&workload->ns, &workload->job_id, &workload->group, &workload->task})
      append_text(key, *part);
  }
  return key;
}

std::size_t weight_of(const Rules& rules) {
  auto weight = rules.namespaces.size() + rules.node_pools.size() + rules.host_volumes.size();
  for (const auto& block : rules.namespaces)
    weight += block.variables ? block.variables->size() : 0;
  return weight;
}

/// Of what keeping something takes besides its own size.
constexpr std::size_t least_bytes = 1'024;
constexpr std::size_t least_rules = 10;

}  // namespace

Result<PolicyRef> RightsCache::read_policy(std::string_view rules) {
  {
    const std::lock_guard lock{guard_};
    if (const auto* const known = policies_.find(rules)) return *known;
  }
  auto read = NOMAD_TRY(access::read_policy(rules));
  const std::lock_guard lock{guard_};
  policies_.keep(read->text, read, rules.size() + least_bytes);
  return read;
}

RightsRef RightsCache::rights_of(std::vector<NamedPolicy> policies,
                                 const ImplicitRights* workload) {
  const auto is_unread = [](const NamedPolicy& each) { return each.policy == nullptr; };
  if (std::ranges::any_of(policies, is_unread)) return Rights::nothing();
  sort_stably(policies, {}, &NamedPolicy::name);
  auto key = key_of(policies, workload);
  {
    const std::lock_guard lock{guard_};
    if (const auto* const known = sets_.find(key)) return *known;
  }
  auto weight = least_rules;
  for (const auto& each : policies)
    weight += weight_of(each.policy->rules);
  auto made = access::rights_of(std::move(policies), workload);
  const std::lock_guard lock{guard_};
  sets_.keep(std::move(key), made, weight);
  return made;
}

}  // namespace nomad::access
