// From claims to what binding rules are told: the texts and lists that a method's mappings name.
// Numbers and booleans become text, a single value counts as a list of it; a name that begins with
// '/' is a JSON pointer.
//
// May depend on: runtime/base. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/login/claims.hpp"

namespace nomad::access {

/// From a claim's name to that which rules know it by.
using ClaimMapping = std::map<std::string, std::string, std::less<>>;

struct MappedClaims {
  std::map<std::string, std::string, std::less<>> values;
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
};

/// Fails for a claim that is mapped and can be no text. One that is missing is left out.
Result<MappedClaims> map_claims(const Claims& claims,
                                const ClaimMapping& values,
                                const ClaimMapping& lists);

/// Whether `fill_bind_name` can replace it at all, given the values.
Result<> check_bind_name(std::string_view bind_name);

/// `bind_name` with `${value.x}` replaced by the value in lower case; `$${` is a literal `${`.
/// Fails for anything else between the braces, as for a value that is not there.
Result<std::string> fill_bind_name(std::string_view bind_name, const MappedClaims& claims);

}  // namespace nomad::access
