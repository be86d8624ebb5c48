#include "test/properties/access/book.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace nomad::properties {

using access::Capability;

namespace {

bool is_of_variables(Capability capability) {
  return capability >= Capability::variables_list && capability <= Capability::variables_destroy;
}

std::string quoted(const std::set<std::string>& words) {
  std::string out;
  for (const auto& word : words)
    out += (out.empty() ? "\"" : ", \"") + word + "\"";
  return out;
}

/// Of "node-write" the block and the level.
std::pair<std::string, std::string> level_in(std::string_view word) {
  const auto dash = word.rfind('-');
  return {std::string{word.substr(0, dash)}, std::string{word.substr(dash + 1)}};
}

/// The rules that a policy has, in the order in which they are written.
struct Blocks {
  std::map<std::string, std::set<std::string>> namespaces;
  std::map<std::string, std::map<std::string, std::set<std::string>>> variables;
  std::map<std::string, std::set<std::string>> pools;
  std::map<std::string, std::string> levels;

  explicit Blocks(const PlainPolicy& policy) {
    for (const auto& ns : policy.denied)
      namespaces[ns].insert("deny");
    for (const auto& right : policy.rights)
      add(right, policy.denied.contains(right.ns));
  }

  void add(const Right& right, bool is_denied) {
    const std::string word{access::word_of(right.capability)};
    if (is_of_variables(right.capability)) {
      namespaces[right.ns];
      variables[right.ns][right.path].insert(word.substr(word.find('-') + 1));
    } else if (access::is_namespaced(right.capability)) {
      if (!is_denied) namespaces[right.ns].insert(word);
    } else if (!right.pool.empty()) {
      pools[right.pool].insert(level_in(word).second);
    } else {
      // Of reading and writing, which a policy lists in this order, the last.
      levels[level_in(word).first] = level_in(word).second;
    }
  }
};

}  // namespace

std::string rules_of(const PlainPolicy& policy) {
  const Blocks blocks{policy};
  std::string out;
  for (const auto& [ns, words] : blocks.namespaces) {
    out += fmt::format("namespace \"{}\" {{\n", ns);
    if (!words.empty()) out += fmt::format("  capabilities = [{}]\n", quoted(words));
    if (const auto found = blocks.variables.find(ns); found != blocks.variables.end()) {
      out += "  variables {\n";
      for (const auto& [path, does] : found->second)
        out += fmt::format("    path \"{}\" {{ capabilities = [{}] }}\n", path, quoted(does));
      out += "  }\n";
    }
    out += "}\n";
  }
  for (const auto& [pool, words] : blocks.pools)
    out += fmt::format("node_pool \"{}\" {{ capabilities = [{}] }}\n", pool, quoted(words));
  for (const auto& [block, level] : blocks.levels)
    out += fmt::format("{} {{ policy = \"{}\" }}\n", block, level);
  return out;
}

bool Book::may(const Holder& holder, const Right& right) const {
  auto names = holder.policies;
  for (const auto& id : holder.roles)
    if (const auto role = roles.find(id); role != roles.end())
      names.insert(role->second.policies.begin(), role->second.policies.end());
  const bool can_be_denied
      = access::is_namespaced(right.capability) && !is_of_variables(right.capability);
  bool is_given = false;
  for (const auto& name : names) {
    const auto found = policies.find(name);
    if (found == policies.end()) continue;
    const auto& policy = found->second;
    const bool is_any = right.capability == Capability::any_in_namespace;
    if (can_be_denied && !is_any && policy.denied.contains(right.ns)) return false;
    const auto has = [&](Capability one) {
      auto other = right;
      other.capability = one;
      return policy.rights.contains(other);
    };
    is_given
        = is_given || has(right.capability)
          || (right.capability == Capability::variables_list && has(Capability::variables_read))
          || (right.capability == Capability::read_services && has(Capability::read_job))
          || (is_any && std::ranges::any_of(policy.rights, [&](const Right& one) {
                return one.ns == right.ns;
              }));
  }
  return is_given;
}

Holder Book::bound(const std::string& user) const {
  Holder holder;
  for (const auto& entry : bindings) {
    const auto& binding = entry.second;
    if (!binding.user.empty() && binding.user != user) continue;
    if (binding.type == "policy" && policies.contains(binding.name))
      holder.policies.insert(binding.name);
    if (binding.type != "role") continue;
    for (const auto& [id, role] : roles)
      if (role.name == binding.name) holder.roles.insert(id);
  }
  return holder;
}

}  // namespace nomad::properties
