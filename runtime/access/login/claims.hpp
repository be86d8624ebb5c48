// Claims: the JSON of tokens and of what providers answer, read strictly: bounded in depth and in
// number, and no name twice, because who signed it and who reads it could mean different ones.
//
// May depend on: runtime/base, runtime/text. Pure.
// Tests: jwt_test.
#pragma once

#include <cstdint>
#include <string_view>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"

namespace nomad::access {

using Claims = boost::json::object;

inline constexpr int most_claims_depth = 16;
inline constexpr std::size_t most_claims = 4'096;  ///< Values of all depths.

/// Reads one JSON object. Errors say in Go's words what is wrong with it.
Result<Claims> read_claims(std::string_view json, std::size_t most = most_claims);

/// A member that is a text; "" when it is missing or something else.
std::string_view text_claim(const Claims& claims, std::string_view name);

}  // namespace nomad::access
