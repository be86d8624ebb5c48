// RuleItem: a setting or a block of a policy's text with all the names before it, the same for HCL
// and JSON. In JSON it can't be seen what is a block's label and what is a block in it; objects
// that hold nothing but objects become names of one item, as HCL 1 has it, so that
//
//   {"namespace": {"a": {"policy": "read"}}}      namespace "a" { policy = "read" }
//
// are the same. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::access {

struct RuleItem;

struct RuleValue {
  enum class Kind : std::uint8_t { text, list, object };

  Kind kind = Kind::text;
  std::uint32_t at = 0;   ///< Where it begins: a byte of the text.
  std::string text = {};  ///< Numbers and booleans as they are written.
  std::vector<RuleValue> elements = {};
  std::vector<RuleItem> items;
};

struct RuleName {
  std::string_view text = {};
  std::uint32_t at = 0;
};

struct RuleItem {
  std::vector<RuleName> names = {};  ///< At least one.
  RuleValue value = {};
};

/// A whole text. Names are views into what `owner` keeps.
struct RuleText {
  std::shared_ptr<const void> owner = {};
  std::vector<RuleItem> items = {};
};

/// Levels of values in each other that a text may have. Rules need no more than ten.
inline constexpr int max_rule_depth = 20;

/// The error says where: "At 3:14: expected a value". Lines and columns count from 1, columns in
/// bytes.
Result<RuleText> read_items(std::string_view text);

/// Line and column of a byte: "3:14".
std::string position_of(std::string_view text, std::uint32_t at);

}  // namespace nomad::access
