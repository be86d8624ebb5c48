// Mark: the piece of constant bytes by which a library says that it is a plugin and what it was
// built with. It is read from the file, before any of its code runs. Depends on nothing, and never
// changes its layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/plugin/sdk/abi.hpp"

namespace nomad::plugin {

struct Mark {
  char magic[16];
  std::uint32_t size;         ///< Of this struct.
  std::uint32_t sdk_version;  ///< Counts what breaks plugins' sources.
  /// What must be the same in a plugin and in the library that it is loaded beside: a sum of the
  /// SDK's headers, Cap'n Proto's version, the standard library's layout.
  char abi[64];
  char compiler[64];  ///< Must be the same, too, where a plugin runs in the agent's process.
};

inline constexpr std::string_view mark_magic{"NOMADCTL-PLUGIN", 16};
inline constexpr std::string_view mark_section = ".nomadctl_plugin";
inline constexpr std::uint32_t sdk_version = 1;

namespace detail {

template <std::size_t size>
constexpr void put(char (&to)[size], std::string_view from) {
  for (std::size_t i = 0; i + 1 < size && i < from.size(); ++i)
    to[i] = from[i];
}

}  // namespace detail

/// Of whoever compiles this.
constexpr Mark own_mark() {
  Mark mark{};
  for (std::size_t i = 0; i < mark_magic.size(); ++i)
    mark.magic[i] = mark_magic[i];
  mark.size = sizeof(Mark);
  mark.sdk_version = sdk_version;
  detail::put(mark.abi, NOMADCTL_PLUGIN_ABI);
  detail::put(mark.compiler, NOMADCTL_PLUGIN_COMPILER);
  return mark;
}

}  // namespace nomad::plugin
