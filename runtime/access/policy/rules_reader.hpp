// RulesReader: reads the items of a policy's text (rule_items.hpp) as Nomad reads them, and checks
// what they say. Names of settings count without regard to case; what nobody knows is passed over,
// but not alone. Blocks of one name are united as those of two policies are.
//
// A text that somebody writes is read strictly: no name that is a known one misspelt, no setting
// twice in one block. One that is stored was judged when it was written, by an older release
// perhaps, and is read as it was then; only a denial counts wherever it stands.
//
// An error begins with Nomad's words, which tools look for. Then come the position, as "(line 3,
// column 5)", and which word may have been meant.
//
// Pure.
#pragma once

#include <string_view>

#include "runtime/access/policy/policy.hpp"
#include "runtime/access/policy/rules.hpp"
#include "runtime/base/result.hpp"

namespace nomad::access {

/// No text at all are no rules; a text without any rule is refused. `most` bounds their number.
Result<Rules> read_rules(std::string_view text, std::size_t most, PolicyText kind);

}  // namespace nomad::access
