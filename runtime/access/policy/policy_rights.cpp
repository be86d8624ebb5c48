#include "runtime/access/policy/policy_rights.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::access {
namespace {

using enum Capability;

/// What may be asked of any namespace or node pool at once, because each object that is found is
/// judged by its own.
constexpr CapabilitySet askable_of_any
    = bit(list_jobs) | bit(parse_job) | bit(read_job) | bit(read_job_scaling)
      | bit(list_scaling_policies) | bit(read_scaling_policy) | bit(csi_list_volume)
      | bit(csi_read_volume) | bit(read_services) | bit(any_in_namespace) | bit(variables_list)
      | bit(node_pool_read);

constexpr std::string_view any_of_them = "*";

/// One policy of each name, in order of names.
std::vector<NamedPolicy> in_order(std::vector<NamedPolicy> policies) {
  std::ranges::reverse(policies);
  sort_stably(policies, {}, &NamedPolicy::name);
  const auto is_same = [](const NamedPolicy& a, const NamedPolicy& b) { return a.name == b.name; };
  policies.erase(std::unique(policies.begin(), policies.end(), is_same), policies.end());
  return policies;
}

AccessLevel higher(AccessLevel a, AccessLevel b) {
  return std::max(a, b);  // that denies is the highest
}

RuleQuestion of_table(RuleScope scope, RuleKey key, Capability needed) {
  RuleQuestion question{.of = RuleQuestion::Of::table, .scope = scope, .key = key};
  question.wanted = needed == any_in_namespace ? ~deny_bit : bit(needed);
  question.is_any = key.name == any_of_them && (askable_of_any & bit(needed)) != 0;
  return question;
}

/// Whether anything can be called that (see RuleTable).
bool is_name(std::string_view name) {
  return !name.empty() && name.find('\0') == std::string_view::npos;
}

RuleQuestion of_pool_use(std::string_view pool) {
  RuleQuestion question{.of = RuleQuestion::Of::pool_use, .scope = RuleScope::node_pools};
  question.key = {pool, {}};
  return question;
}

RuleQuestion of_level(std::size_t block, AccessLevel at_least) {
  RuleQuestion question{.of = RuleQuestion::Of::level};
  question.block = block;
  question.at_least = at_least;
  return question;
}

}  // namespace

RuleQuestion question_of(Capability needed, const Target& target) {
  switch (needed) {
    case list_jobs:
    case parse_job:
    case read_job:
    case submit_job:
    case dispatch_job:
    case scale_job:
    case read_job_scaling:
    case list_scaling_policies:
    case read_scaling_policy:
    case read_logs:
    case read_fs:
    case alloc_lifecycle:
    case alloc_exec:
    case alloc_node_exec:
    case csi_list_volume:
    case csi_read_volume:
    case csi_mount_volume:
    case csi_write_volume:
    case csi_register_plugin:
    case sentinel_override:
    case submit_recommendation:
    case any_in_namespace:
      return of_table(RuleScope::namespaces, {target.ns, {}}, needed);
    case read_services: {
      auto question = of_table(RuleScope::namespaces, {target.ns, {}}, read_job);
      question.of = RuleQuestion::Of::services;
      return question;
    }
    case variables_list:
    case variables_read:
    case variables_write:
    case variables_destroy:
      return of_table(RuleScope::variables, {target.ns, target.path}, needed);
    case node_pool_read:
    case node_pool_write:
    case node_pool_delete:
      return of_table(RuleScope::node_pools, {target.node_pool, {}}, needed);
    case node_pool_use:
      return of_pool_use(target.node_pool);
    case host_volume_mount_readonly:
    case host_volume_mount_readwrite:
      return of_table(RuleScope::host_volumes, {target.host_volume, {}}, needed);
    case agent_read:
      return of_level(0, AccessLevel::read);
    case agent_write:
      return of_level(0, AccessLevel::write);
    case node_read:
      return of_level(1, AccessLevel::read);
    case node_write:
      return of_level(1, AccessLevel::write);
    case operator_read:
      return of_level(2, AccessLevel::read);
    case operator_write:
      return of_level(2, AccessLevel::write);
    case quota_read:
      return of_level(3, AccessLevel::read);
    case quota_write:
      return of_level(3, AccessLevel::write);
    case plugin_list:
      return of_level(4, AccessLevel::list);
    case plugin_read:
      return of_level(4, AccessLevel::read);
    case none:
    case management:
      break;
  }
  return {};
}

AccessLevel level_of(std::string_view word) {
  if (word == "deny") return AccessLevel::deny;
  if (word == "write") return AccessLevel::write;
  if (word == "read") return AccessLevel::read;
  return word == "list" ? AccessLevel::list : AccessLevel::none;
}

PolicyRights::PolicyRights(std::vector<NamedPolicy> policies, const ImplicitRights* workload)
    : Rights{Form::policies}, policies_{in_order(std::move(policies))} {
  if (workload != nullptr) workload_ = *workload;
  for (std::uint32_t position = 0; position < policies_.size(); ++position)
    add(position, policies_[position].policy->rules);
  for (auto& table : tables_)
    table.seal();
}

void PolicyRights::add(std::uint32_t position, const Rules& rules) {
  const auto table_of
      = [&](RuleScope scope) -> RuleTable& { return tables_[static_cast<std::size_t>(scope)]; };
  const auto add_blocks = [&](RuleScope scope, const std::vector<BlockRule>& blocks) {
    for (const auto& block : blocks)
      table_of(scope).add({block.name, {}}, block.given, {position, &block, nullptr});
  };
  add_blocks(RuleScope::namespaces, rules.namespaces);
  add_blocks(RuleScope::node_pools, rules.node_pools);
  add_blocks(RuleScope::host_volumes, rules.host_volumes);
  for (const auto& block : rules.namespaces)
    if (block.variables)
      for (const auto& path : *block.variables)
        table_of(RuleScope::variables)
            .add({block.name, path.path}, path.given, {position, &block, &path});
  for (std::size_t i = 0; i < level_blocks.size(); ++i)
    if (const auto& rule = rules.*level_blocks[i].rule)
      levels_[i] = higher(levels_[i], level_of(rule->level));
}

bool PolicyRights::is_own_variable(const RuleKey& key) const {
  constexpr std::string_view root = "nomad/jobs";
  if (!workload_ || key.name != workload_->ns || !key.path.starts_with(root)) return false;
  auto rest = key.path.substr(root.size());
  for (const auto* part : {&workload_->job_id, &workload_->group, &workload_->task}) {
    if (rest.empty()) return true;
    if (part->empty() || rest.front() != '/' || !rest.substr(1).starts_with(*part)) return false;
    rest.remove_prefix(1 + part->size());
  }
  return rest.empty();
}

const RuleTable::Entry* PolicyRights::denying_pool(std::string_view pool) const {
  constexpr std::string_view pool_of_all = "all";
  const auto& pools = table(RuleScope::node_pools);
  if (pool != pool_of_all) {
    const auto* const entry = entry_for(RuleScope::node_pools, {pool, {}});
    return entry != nullptr && entry->is_denied() ? entry : nullptr;
  }
  for (const auto* entries : {&pools.names(), &pools.patterns()})
    for (const auto& entry : *entries)
      if (entry.is_denied()) return &entry;
  return nullptr;
}

const RuleTable::Entry* PolicyRights::entry_for(RuleScope scope, const RuleKey& key) const {
  const auto& entries = table(scope);
  if (const auto* const found = entries.exact(key)) return found;
  if (scope == RuleScope::variables && is_own_variable(key)) return nullptr;
  return entries.closest(key);
}

bool PolicyRights::allows_services(const RuleQuestion& question) const {
  if (question.is_any)
    return workload_.has_value() || (table(question.scope).any() & question.wanted) != 0;
  const auto* const entry = entry_for(question.scope, question.key);
  if (entry != nullptr && (entry->effective() & question.wanted) != 0) return true;
  return workload_ && workload_->ns == question.key.name
         && (entry == nullptr || !entry->is_denied());
}

bool PolicyRights::decide(Capability needed, const Target& target) const {
  if (needed == none) return true;
  const auto question = question_of(needed, target);
  switch (question.of) {
    case RuleQuestion::Of::table: {
      const bool has_own = question.scope == RuleScope::variables && workload_;
      if (question.is_any) return has_own || (table(question.scope).any() & question.wanted) != 0;
      if (const auto* const entry = entry_for(question.scope, question.key))
        return (entry->effective() & question.wanted) != 0;
      constexpr auto reads = bit(variables_list) | bit(variables_read);
      return has_own && (question.wanted & reads) != 0 && is_own_variable(question.key);
    }
    case RuleQuestion::Of::services:
      return allows_services(question);
    case RuleQuestion::Of::pool_use:
      return is_name(question.key.name) && denying_pool(question.key.name) == nullptr;
    case RuleQuestion::Of::level:
      return level(question.block) != AccessLevel::deny
             && level(question.block) >= question.at_least;
    case RuleQuestion::Of::nothing:
      break;
  }
  return false;
}

}  // namespace nomad::access
