// What a probe asks by HTTP and what an answer comes to. Pure. Internal to runtime/probe.
#pragma once

#include "runtime/net/http/client/http_request.hpp"
#include "runtime/probe/grpc_call.hpp"
#include "runtime/probe/prober.hpp"

namespace nomad::probe {

/// Of any kind of probe: who is connected to, on a connection of its own.
net::HttpRequest peer_of(const Probe& probe);

/// Of an HTTP probe.
net::HttpRequest request_of(const Probe& probe);
GrpcCall::Question question_of(const Probe& probe);

/// A 200 needs no body.
bool is_body_wanted(const net::ClientResponse& head);

Outcome http_outcome(const net::HttpOutcome& told);
Outcome grpc_outcome(const GrpcAnswer& answer);

/// There was no answer, or no connection for one of another kind.
Outcome failed(const Probe& probe, const net::HttpClientError& why);

/// "nomad: …".
Outcome failed(const std::string& why);

}  // namespace nomad::probe
