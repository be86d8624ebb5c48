// Hashes by which the state finds tokens: it has no secret itself.
//
// May depend on: runtime/base. Pure.
#pragma once

#include <string>
#include <string_view>

namespace nomad::access {

/// BLAKE2b of 32 bytes over a token's secret in lower case, for secrets are compared without regard
/// to case. They are drawn at random, so that a hash without a key does not help to guess one.
std::string secret_hash(std::string_view secret);

}  // namespace nomad::access
