// Who sends a request of the HTTP API (runtime/access/caller.hpp).
#pragma once

#include "runtime/access/authorize.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::api {

using access::Capability;

/// Who sent `request`: what the RPC layer established of one that another agent passed on, and the
/// token in X-Nomad-Token or a bearer authorization.
access::Caller caller_of(const net::Request& request);

}  // namespace nomad::api
