#include "runtime/access/policy/policy.hpp"

#include <algorithm>
#include <utility>

#include "runtime/access/policy/policy_rights.hpp"
#include "runtime/access/policy/rules_reader.hpp"
#include "runtime/text/json.hpp"

namespace nomad::access {
namespace {

/// Lists of which nothing was said are null.
template <class Items, class Append>
void append_list(std::string& out, const Items& items, bool is_there, const Append& append) {
  if (!is_there && items.empty()) {
    out += "null";
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append(items[i]);
  }
  out += ']';
}

template <class Rule>
void append_capabilities(std::string& out, const Rule& rule) {
  out += R"("Capabilities":)";
  append_list(out, rule.capabilities, rule.is_listed,
              [&](const std::string& word) { append_json_string(out, word); });
}

void append_paths(std::string& out, const std::vector<PathRule>& paths) {
  out += R"({"Paths":)";
  append_list(out, paths, false, [&](const PathRule& rule) {
    out += '{';
    append_capabilities(out, rule);
    out += R"(,"PathSpec":)";
    append_json_string(out, rule.path);
    out += '}';
  });
  out += '}';
}

void append_blocks(std::string& out,
                   std::string_view name,
                   const std::vector<BlockRule>& rules,
                   bool have_variables) {
  out += json_quoted(name) + ':';
  append_list(out, rules, false, [&](const BlockRule& rule) {
    out += '{';
    append_capabilities(out, rule);
    out += R"(,"Name":)" + json_quoted(rule.name) + R"(,"Policy":)" + json_quoted(rule.level);
    if (have_variables) {
      out += R"(,"Variables":)";
      if (rule.variables)
        append_paths(out, *rule.variables);
      else
        out += "null";
    }
    out += '}';
  });
  out += ',';
}

void append_level(std::string& out, std::string_view name, const std::optional<LevelRule>& rule) {
  out += json_quoted(name) + ':';
  out += rule ? R"({"Policy":)" + json_quoted(rule->level) + '}' : "null";
  out += ',';
}

const PolicyRights* of_policies(const Rights& rights) {
  return rights.form() == Rights::Form::policies ? static_cast<const PolicyRights*>(&rights)
                                                 : nullptr;
}

}  // namespace

Result<PolicyRef> read_policy(std::string_view rules, PolicyText kind) {
  if (rules.size() > max_policy_bytes)
    return Error{Errc::invalid_argument,
                 "Invalid policy: its rules have " + std::to_string(rules.size())
                     + " bytes, and more than " + std::to_string(max_policy_bytes)
                     + " are not allowed"};
  auto read = NOMAD_TRY(read_rules(rules, max_policy_rules, kind));
  return PolicyRef{std::make_shared<Policy>(rules, std::move(read))};
}

const std::string& rules_text(const Policy& policy) {
  return policy.text;
}

std::string rules_json(const Policy& policy) {
  const auto& rules = policy.rules;
  std::string out = "{";
  append_level(out, "Agent", rules.agent);
  append_blocks(out, "HostVolumes", rules.host_volumes, false);
  append_blocks(out, "Namespaces", rules.namespaces, true);
  append_level(out, "Node", rules.node);
  append_blocks(out, "NodePools", rules.node_pools, false);
  append_level(out, "Operator", rules.cluster);
  append_level(out, "Plugin", rules.plugin);
  append_level(out, "Quota", rules.quota);
  out += R"("Raw":)";
  append_json_string(out, policy.text);
  return out + '}';
}

RightsRef rights_of(std::vector<NamedPolicy> policies, const ImplicitRights* workload) {
  const auto is_unread = [](const NamedPolicy& each) { return each.policy == nullptr; };
  if (std::ranges::any_of(policies, is_unread)) return Rights::nothing();
  return std::make_shared<PolicyRights>(std::move(policies), workload);
}

const std::vector<NamedPolicy>& policies_of(const Rights& rights) {
  static const std::vector<NamedPolicy> none;
  const auto* const made = of_policies(rights);
  return made != nullptr ? made->policies() : none;
}

const ImplicitRights* workload_of(const Rights& rights) {
  const auto* const made = of_policies(rights);
  return made != nullptr ? made->workload() : nullptr;
}

}  // namespace nomad::access
