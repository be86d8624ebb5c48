// HCL1, the language in which older agent configurations are written: keys may be quoted, several
// settings may share a line, a closing brace may follow the last of them, commas between them are
// allowed. There are no expressions; "${…}" in a string is text.
//
//   object = { key { key } ( "=" value | "{" object "}" ) [ "," ] }
//   value  = number | "true" | "false" | string | heredoc | "[" value , … "]" | "{" object "}"
//
// Used for files that are not HCL2; what is both means the same in both.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"

namespace nomad::config {

/// Where a setting or block first stands, by its path ("server.enabled").
using KeyLines = std::map<std::string, std::uint32_t, std::less<>>;

/// `text` as a tree like that of parse_config_text. The error names line and column.
Result<boost::json::object> parse_hcl1(std::string_view file,
                                       std::string_view text,
                                       KeyLines& lines);

/// Puts `addition` into `target`; where both hold an object under a key, these are merged.
void merge_trees(boost::json::object& target, const boost::json::object& addition);

}  // namespace nomad::config
