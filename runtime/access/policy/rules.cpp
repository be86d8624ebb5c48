#include "runtime/access/policy/rules.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/text.hpp"

namespace nomad::access {
namespace {

using enum Capability;

constexpr auto namespace_words = [] {
  std::array<CapabilityWord, static_cast<std::size_t>(submit_recommendation)> words{};
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i].capability = static_cast<Capability>(i + 1);
  return words;
}();

constexpr std::array<CapabilityWord, 3> node_pool_words{{
    {"delete", node_pool_delete},
    {"read", node_pool_read},
    {"write", node_pool_write},
}};

constexpr std::array<CapabilityWord, 2> host_volume_words{{
    {"mount-readonly", host_volume_mount_readonly},
    {"mount-readwrite", host_volume_mount_readwrite},
}};

constexpr std::array<CapabilityWord, 4> variable_words{{
    {"list", variables_list},
    {"read", variables_read},
    {"write", variables_write},
    {"destroy", variables_destroy},
}};

// In the order in which Nomad shows them.
constexpr std::array read_level = {list_jobs,
                                   parse_job,
                                   read_job,
                                   csi_list_volume,
                                   csi_read_volume,
                                   read_job_scaling,
                                   list_scaling_policies,
                                   read_scaling_policy};
constexpr std::array write_level_adds
    = {scale_job,  submit_job,      dispatch_job,     read_logs,        read_fs,
       alloc_exec, alloc_lifecycle, csi_mount_volume, csi_write_volume, submit_recommendation};
constexpr std::array scale_level
    = {list_scaling_policies, read_scaling_policy, read_job_scaling, scale_job};

std::string words_text(const std::vector<std::string>& words, std::size_t count) {
  std::string out = "capabilities = [";
  for (std::size_t i = 0; i < count; ++i)
    out += (i == 0 ? "" : ", ") + quote(words[i]);
  return out + ']';
}

void append_words(std::vector<std::string_view>& out, std::span<const Capability> capabilities) {
  for (const auto capability : capabilities)
    out.push_back(word_of(capability));
}

constexpr std::string_view keyword_of(RuleScope scope) {
  switch (scope) {
    case RuleScope::namespaces:
      return "namespace";
    case RuleScope::node_pools:
      return "node_pool";
    case RuleScope::host_volumes:
      return "host_volume";
    case RuleScope::variables:
      break;
  }
  return "path";
}

}  // namespace

std::span<const CapabilityWord> words_of(RuleScope scope) {
  static const auto of_namespaces = [] {
    auto words = namespace_words;
    for (auto& [word, capability] : words)
      word = word_of(capability);
    return words;
  }();
  switch (scope) {
    case RuleScope::namespaces:
      return of_namespaces;
    case RuleScope::node_pools:
      return node_pool_words;
    case RuleScope::host_volumes:
      return host_volume_words;
    case RuleScope::variables:
      break;
  }
  return variable_words;
}

std::optional<CapabilitySet> given_by(RuleScope scope, std::string_view word) {
  if (word == "deny") return deny_bit;
  const auto words = words_of(scope);
  const auto found = std::ranges::find(words, word, &CapabilityWord::word);
  if (found == words.end()) return {};
  return bit(found->capability);
}

std::vector<std::string_view> words_of_level(RuleScope scope, std::string_view level) {
  std::vector<std::string_view> out;
  if (level == "deny") return {"deny"};
  switch (scope) {
    case RuleScope::namespaces:
      if (level == "read" || level == "write") append_words(out, read_level);
      if (level == "write") append_words(out, write_level_adds);
      if (level == "scale") append_words(out, scale_level);
      break;
    case RuleScope::node_pools:
      if (level == "read") out = {"read"};
      if (level == "write") out = {"delete", "read", "write"};
      break;
    case RuleScope::host_volumes:
      if (level == "read") out = {"mount-readonly"};
      if (level == "write") out = {"mount-readonly", "mount-readwrite"};
      break;
    case RuleScope::variables:
      break;
  }
  return out;
}

std::string text_of(RuleScope scope, const BlockRule& rule) {
  std::string out = std::string{keyword_of(scope)} + ' ' + quote(rule.name) + " {";
  if (!rule.level.empty()) out += " policy = " + quote(rule.level);
  if (rule.is_listed) out += ' ' + words_text(rule.capabilities, rule.written);
  return shorten(out + " }");
}

std::string text_of(const BlockRule& rule, const PathRule& path) {
  return shorten("namespace " + quote(rule.name) + " { variables { path " + quote(path.path) + " { "
                 + words_text(path.capabilities, path.written) + " } } }");
}

std::string text_of(std::string_view block, const LevelRule& rule) {
  return std::string{block} + " { policy = " + quote(rule.level) + " }";
}

}  // namespace nomad::access
