// Locks of variables over HTTP: PUT /v1/var/<path>?lock-acquire, ?lock-renew and ?lock-release.
#pragma once

#include <cstdint>
#include <optional>

#include "actors/api/http/routes.hpp"

namespace nomad::api {

enum class LockOperation : std::uint8_t { acquire, renew, release };

/// What a request asks to be done with a lock; nothing: it is about the variable itself.
Result<std::optional<LockOperation>> lock_operation(const net::Request& request);

/// Does it. The call's path is a variable's.
Outcome change_lock(Call& call, const VariableParts& parts, LockOperation operation);

}  // namespace nomad::api
