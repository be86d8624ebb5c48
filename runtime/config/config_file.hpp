// Configuration files as trees: HCL or JSON text to one JSON object, in which a block is an object,
// a label is one more level, and blocks that stand more than once are merged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"

namespace nomad::config {

/// Where a setting or block first stands, by its path ("server.enabled").
using KeyLines = std::map<std::string, std::uint32_t, std::less<>>;

struct ConfigTree {
  boost::json::object tree;
  KeyLines lines{};  ///< None of JSON.
};

/// Puts `addition` into `target`; where both hold an object under a key, these are merged.
void merge_trees(boost::json::object& target, const boost::json::object& addition);

/// HCL1 is read where the text is not HCL2. The error lists the syntax errors with file, line and
/// column. Blocks of the type `listed` are not merged: each is one of a list.
Result<ConfigTree> parse_config_text(const std::string& file,
                                     std::string text,
                                     std::string_view listed = {});

}  // namespace nomad::config
