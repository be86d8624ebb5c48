#include "runtime/access/limits.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"

namespace nomad::access {
namespace {

using enum Capability;

constexpr std::string_view of_namespace = "namespace:";
constexpr std::string_view of_node = "node:";

constexpr CapabilitySet all_of_namespaces() {
  CapabilitySet all = 0;
  for (auto position = static_cast<unsigned>(list_jobs);
       position < static_cast<unsigned>(node_read); ++position)
    all |= CapabilitySet{1} << position;
  return all & ~bit(any_in_namespace);
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
    const auto known = capability_of(word);
    if (!known || *known == any_in_namespace || *known == node_pool_use)
      return Error{Errc::invalid_argument, "\"" + std::string{word} + "\" is no capability"};
    capabilities_ |= bit(*known);
    if (*known == read_job) capabilities_ |= bit(read_services);
  }
  return {};
}

Error Limits::refusal(Capability needed, const Target& target) {
  const auto word = word_of(needed);
  const bool is_named = !word.empty() && needed != any_in_namespace;
  std::string text = "Permission denied";
  if (is_named) text += ": it takes \"" + std::string{word} + "\"";
  if (is_named && !target.ns.empty())
    text += " in the namespace \"" + std::string{target.ns} + "\"";
  return {Errc::permission_denied, text};
}

bool Limits::has(Capability capability) const {
  return (capabilities_ & (bit(capability) | bit(management))) != 0;
}

bool Limits::allow(Capability needed, const Target& target) const {
  if (needed == none || needed == node_pool_use) return true;
  if (needed == node_read && !node_.empty() && target.node == node_) return true;
  if (!is_namespaced(needed)) return has(needed);
  if (!namespaces_.empty() && std::ranges::find(namespaces_, target.ns) == namespaces_.end())
    return false;
  return needed == any_in_namespace ? (capabilities_ & (all_of_namespaces() | bit(management))) != 0
                                    : has(needed);
}

}  // namespace nomad::access
