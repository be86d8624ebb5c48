#include "runtime/access/limits.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/text.hpp"

namespace nomad::access {
namespace {

using enum Capability;

constexpr std::array<std::pair<std::string_view, Capability>, 27> words{{
    {"list-jobs", list_jobs},
    {"parse-job", parse_job},
    {"read-job", read_job},
    {"submit-job", submit_job},
    {"dispatch-job", dispatch_job},
    {"scale-job", scale_job},
    {"read-job-scaling", read_job_scaling},
    {"list-scaling-policies", list_scaling_policies},
    {"read-scaling-policy", read_scaling_policy},
    {"read-logs", read_logs},
    {"read-fs", read_fs},
    {"alloc-lifecycle", alloc_lifecycle},
    {"alloc-exec", alloc_exec},
    {"variables-list", variables_list},
    {"variables-read", variables_read},
    {"variables-write", variables_write},
    {"variables-destroy", variables_destroy},
    {"node-read", node_read},
    {"node-write", node_write},
    {"node-pool-read", node_pool_read},
    {"node-pool-write", node_pool_write},
    {"node-pool-delete", node_pool_delete},
    {"agent-read", agent_read},
    {"agent-write", agent_write},
    {"operator-read", operator_read},
    {"operator-write", operator_write},
    {"management", management},
}};

constexpr std::string_view of_namespace = "namespace:";
constexpr std::string_view of_node = "node:";

constexpr std::uint64_t bit(Capability capability) {
  return std::uint64_t{1} << static_cast<unsigned>(capability);
}

constexpr std::uint64_t all_of_namespaces() {
  std::uint64_t all = 0;
  for (const auto& [word, capability] : words)
    if (is_namespaced(capability)) all |= bit(capability);
  return all;
}

}  // namespace

Result<Limits> Limits::read(std::string_view text) {
  Limits limits;
  for (const auto word : fields(text))
    NOMAD_TRY(limits.add(word));
  limits.text_ = std::string{text};
  return limits;
}

Result<> Limits::add(std::string_view word) {
  if (word.starts_with(of_namespace)) {
    namespaces_.emplace_back(word.substr(of_namespace.size()));
  } else if (word.starts_with(of_node)) {
    node_ = word.substr(of_node.size());
  } else {
    const auto* const known
        = std::ranges::find(words, word, [](const auto& each) { return each.first; });
    if (known == words.end())
      return Error{Errc::invalid_argument, "\"" + std::string{word} + "\" is no capability"};
    capabilities_ |= bit(known->second);
  }
  return {};
}

Error Limits::refusal(Capability needed, const Target& target) {
  const auto* const known
      = std::ranges::find(words, needed, [](const auto& each) { return each.second; });
  std::string text = "Permission denied";
  if (known != words.end()) text += ": it takes \"" + std::string{known->first} + "\"";
  if (known != words.end() && !target.ns.empty())
    text += " in the namespace \"" + std::string{target.ns} + "\"";
  return {Errc::permission_denied, text};
}

bool Limits::has(Capability capability) const {
  return (capabilities_ & (bit(capability) | bit(management))) != 0;
}

bool Limits::allow(Capability needed, const Target& target) const {
  if (needed == none) return true;
  if (needed == node_read && !node_.empty() && target.node == node_) return true;
  if (!is_namespaced(needed)) return has(needed);
  if (!namespaces_.empty() && std::ranges::find(namespaces_, target.ns) == namespaces_.end())
    return false;
  return needed == any_in_namespace ? (capabilities_ & (all_of_namespaces() | bit(management))) != 0
                                    : has(needed);
}

}  // namespace nomad::access
