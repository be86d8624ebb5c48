// Rules: what is in the text of one policy, read and checked, with what each of its words gives.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/access/capability.hpp"

namespace nomad::access {

/// Takes all else away from whoever has it; no capability that can be asked for.
inline constexpr CapabilitySet deny_bit = CapabilitySet{1} << 63U;

/// What has rules by names or patterns.
enum class RuleScope : std::uint8_t { namespaces, node_pools, host_volumes, variables };

/// `path "x/*" { capabilities = ["read"] }`
struct PathRule {
  std::string path = {};
  std::vector<std::string> capabilities = {};  ///< With those that others bring along.
  std::size_t written = 0;                     ///< How many of them the text has.
  bool is_listed = false;                      ///< Whether the text has the list at all.
  CapabilitySet given = 0;
  std::uint32_t line = 0;
};

/// `namespace "a" { policy = "read" }`, and the same of node pools and host volumes.
struct BlockRule {
  std::string name = {};
  std::string level = {};
  std::vector<std::string> capabilities = {};  ///< With those of the level.
  std::size_t written = 0;
  bool is_listed = false;
  std::optional<std::vector<PathRule>> variables = {};
  CapabilitySet given = 0;
  std::uint32_t line = 0;
};

/// `agent { policy = "read" }`
struct LevelRule {
  std::string level = {};
  std::uint32_t line = 0;
};

struct Rules {
  std::vector<BlockRule> namespaces = {};
  std::vector<BlockRule> node_pools = {};
  std::vector<BlockRule> host_volumes = {};
  std::optional<LevelRule> agent = {};
  std::optional<LevelRule> node = {};
  std::optional<LevelRule> cluster = {};  ///< Block "operator".
  std::optional<LevelRule> quota = {};
  std::optional<LevelRule> plugin = {};
};

struct CapabilityWord {
  std::string_view word;
  Capability capability;
};

/// The words that `capabilities` of that scope may have, besides "deny".
std::span<const CapabilityWord> words_of(RuleScope scope);

/// What a word gives; nothing where it is none. "deny" gives `deny_bit`.
std::optional<CapabilitySet> given_by(RuleScope scope, std::string_view word);

/// The words that a level stands for. Not of variables, which have none.
std::vector<std::string_view> words_of_level(RuleScope scope, std::string_view level);

std::string text_of(RuleScope scope, const BlockRule& rule);
std::string text_of(const BlockRule& rule, const PathRule& path);
std::string text_of(std::string_view block, const LevelRule& rule);

}  // namespace nomad::access
