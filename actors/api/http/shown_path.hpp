// The path of a request as logs may have it: people take a token's secret for its accessor, and put
// it where that belongs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/secret.hpp"
#include "runtime/state/store.hpp"

namespace nomad::api {

/// What of a path below "/v1/acl/token/" is the secret of a token in `store`; empty: nothing. An
/// agent without a store, null, cannot tell, and takes each id there for one. Thread-safe.
SecretText secret_in_path(std::string_view path, const std::shared_ptr<state::Store>& store);

/// The path with "<redacted>" in place of it. Thread-safe.
std::string shown_path(const std::string& path, const std::shared_ptr<state::Store>& store);

}  // namespace nomad::api
