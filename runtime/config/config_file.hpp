// Configuration files as trees: HCL or JSON text to one JSON object, in which a block is an object,
// a label is one more level, and blocks that stand more than once are merged.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"
#include "runtime/config/hcl1.hpp"

namespace nomad::config {

struct ConfigTree {
  boost::json::object tree;
  KeyLines lines{};  ///< None of JSON.
};

/// The error lists the syntax errors with file, line and column.
Result<ConfigTree> parse_config_text(const std::string& file, std::string text);

}  // namespace nomad::config
