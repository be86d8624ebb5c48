// with_root_key: who seals something waits for the first root key, which the leader of a new
// cluster makes as soon as it can. Tests: variable_test, acl_test.
#pragma once

#include <functional>
#include <string_view>

#include "actors/api/http/call.hpp"
#include "schema/variable.capnp.h"

namespace nomad::api {

/// Calls `go(root key)` as soon as there is one that seals. Fails the call when there is none for
/// long: `attempt`, which is a literal, stands before why.
void with_root_key(SharedCall call,
                   std::function<void(const Object<schema::RootKey>&)> go,
                   std::string_view attempt = "");

}  // namespace nomad::api
