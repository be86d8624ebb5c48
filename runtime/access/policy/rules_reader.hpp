// RulesReader: reads the items of a policy's text (rule_items.hpp) as Nomad reads them, and checks
// what they say. Names of settings count without regard to case; what nobody knows is passed over,
// but not alone.
//
// An error begins with Nomad's words, which tools look for. Then come the position, as "(line 3,
// column 5)", and which word may have been meant.
//
// Pure.
#pragma once

#include <string_view>

#include "runtime/access/policy/rules.hpp"
#include "runtime/base/result.hpp"

namespace nomad::access {

/// No text at all are no rules; a text without any rule is refused. `most` bounds their number.
Result<Rules> read_rules(std::string_view text, std::size_t most);

}  // namespace nomad::access
