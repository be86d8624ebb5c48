// The handshake of a websocket (RFC 6455) as requests bring it. Tests: exec_test.
#pragma once

#include <optional>

#include "actors/api/http/answer.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::api {

/// What is wrong with it, in the words of Go's library and Nomad's wrapper around it; none: it is
/// right.
std::optional<Answer> refuse_handshake(const net::Request& request);

/// The answer to a handshake that is right.
net::Response switching(const net::Request& request);

}  // namespace nomad::api
