// Ids: Nomad names nodes, allocations, evaluations and deployments by random (version 4) UUIDs
// in lower-case text, 36 characters.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"

namespace nomad {

/// A new random UUID drawn from `random`.
std::string make_uuid(Random& random);

/// 16 bytes as a UUID of a version, but for the bits that say which one it is.
std::string uuid_of(std::string_view bytes, unsigned version);

/// Whether `text` is a whole UUID: 8-4-4-4-12 hexadecimal digits, either case.
bool is_uuid(std::string_view text);

/// Checks the prefix of a UUID as Nomad's memdb index does, and in its words. An odd number of
/// digits, which Nomad refuses, is fine.
Result<> check_uuid_prefix(std::string_view prefix);

/// The first eight characters, as the CLI and logs show ids.
std::string_view short_id(std::string_view id);

}  // namespace nomad
