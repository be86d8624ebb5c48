// What can stand behind a command or a flag: files, words, or objects that the agent knows. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cli/completion/typed_line.hpp"

namespace nomad::cli {

enum class ValueKind : std::uint8_t {
  nothing,
  files,
  // Objects that the agent lists:
  jobs,
  allocs,
  nodes,
  evals,
  deployments,
  namespaces,
  node_pools,
  quotas,
  variables,
  policies,
  roles,
  tokens,
  auth_methods,
  binding_rules,
  sentinel_policies,
  plugins,
  scaling_policies,
  services,
  regions,
  servers,
  identifiers,  ///< Of whatever begins so.
  // Parts of the object that the first word names:
  tasks,
  alloc_files,
  groups,
  versions,
};

/// Of the next word of a command, whose name is that of its usage.
ValueKind kind_of_word(std::string_view command, const GivenWords& given);

/// Of the value of a command's flag.
ValueKind kind_of_flag(std::string_view command, std::string_view flag);

/// Those that a flag's value is one of; empty: it is none of a few.
std::span<const std::string_view> words_of_flag(std::string_view flag);

}  // namespace nomad::cli
