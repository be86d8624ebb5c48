// What a plugin says, cut to what an agent passes on: to its log, to events that servers keep, to
// the attributes of a node. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "schema/common.capnp.h"
#include "schema/plugin.capnp.h"

namespace nomad::plugin {

inline constexpr std::size_t most_text_bytes = 4096;
inline constexpr std::size_t most_name_of_bytes = 256;  ///< Of keys and kinds.
inline constexpr unsigned most_details = 64;
inline constexpr unsigned most_attributes = 256;
inline constexpr std::size_t most_attribute_bytes = 1024;

/// A text of a plugin's as one line that a terminal may show, of no more than about `most` bytes.
std::string said(std::string_view text, std::size_t most = most_text_bytes);

/// Keys and values so, sorted, and no more than `most_details` of them.
std::map<std::string, std::string> said_details(capnp::List<schema::TextEntry>::Reader details);

/// The event's texts so; its time, if it has none, is `unix_now`.
void clean_event(schema::plugin::Event::Builder event, std::int64_t unix_now);

/// Attributes of a node. `too_large` says what of them is: none is taken then.
Result<std::map<std::string, std::string>> read_facts(
    capnp::List<schema::TextEntry>::Reader attributes);

}  // namespace nomad::plugin
