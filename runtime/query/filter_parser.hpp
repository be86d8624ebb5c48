// The grammar of filter expressions: go-bexpr's, with its error texts, which name the farthest
// place that was understood and everything that could have stood there.
//
// A parsing expression grammar, tried in order with backtracking. What was tried at a place is
// remembered, so the time is linear in the text; nesting is bounded (the original takes
// exponential time in open parentheses). Pure.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/query/filter_ast.hpp"

namespace nomad::query {

inline constexpr int max_filter_nesting = 24;   ///< Parentheses, negations and any/all.
inline constexpr int max_filter_terms = 1'000;  ///< Joined by and/or, as deep as they go.

/// Parses `text`, which is not empty. The error is `1:5 (4): no match found, expected: …`.
Result<std::shared_ptr<const Expression>> parse_filter(std::string_view text);

}  // namespace nomad::query
