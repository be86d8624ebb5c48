// Dispatch: runs an operation where it is to be served (place.hpp): here, or by way of a Relay.
#pragma once

#include "actors/api/place.hpp"
#include "actors/api/relay.hpp"

namespace nomad::api {

/// `run` serves it here.
void dispatch(Where where, Call call, const Run& run);

}  // namespace nomad::api
