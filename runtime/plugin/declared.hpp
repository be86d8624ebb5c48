// What a plugin declares of itself, looked at before any of it is believed. Pure.
#pragma once

#include <string>

#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "schema/plugin_link.capnp.h"

namespace nomad::plugin {

inline constexpr std::uint32_t link_version = 1;

/// Greatest numbers of what one plugin brings, of each kind; and of its configuration's fields.
inline constexpr unsigned most_of_a_kind = 32;
inline constexpr unsigned most_fields = 256;
inline constexpr unsigned most_reads = 32;  ///< What a scheduler wants to know of a node.

/// Whether this agent can use it. `name` is that of its file. The error says what is wrong.
Result<> check_declaration(schema::plugin::Declaration::Reader declaration, std::string_view name);

}  // namespace nomad::plugin
