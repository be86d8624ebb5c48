// What a request of the HTTP API shows of who sent it, and how it comes to a Principal.
#pragma once

#include <functional>

#include "runtime/access/authenticator.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::api {

using access::Capability;

/// Address and token, the latter from X-Nomad-Token or a bearer authorization. Of a request that
/// another agent passed on the RPC layer has taken these (`Request::who`).
access::Presented presented_by(const net::Request& request);

/// Who sent `request`, without rights yet.
access::Principal sender_of(const net::Request& request, const access::Authenticator& by);

}  // namespace nomad::api
