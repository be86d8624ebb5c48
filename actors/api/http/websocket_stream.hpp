// Streams for browsers: what answers a GET by newline-delimited JSON without an end may be asked
// for as a websocket on the same path. Each piece of the stream is a text message then, of whole
// lines; what is status 4xx or 5xx elsewhere is a close with 1008 or 1011 and the text as its
// reason. A page can give no header, so with `ws_handshake=true` the token comes in the first
// message, as for `alloc exec`. What the client sends besides is passed over.
//
// A client that answers no ping for two minutes is gone.
//
// Tests: streams/test_websocket_streams.py, security/test_audit.py.
#pragma once

#include <functional>

#include "actors/api/http/call.hpp"

namespace nomad::api {

/// Serves `call` by `run`, which is given a call whose responder writes to the websocket, of a
/// caller with his rights.
Outcome over_websocket(Call& call, std::function<Outcome(Call&)> run);

/// `run` as it is, or over a websocket if the request asks for one.
Outcome stream_as_asked(Call& call, std::function<Outcome(Call&)> run);

/// Ends a stream of JSON lines whose rest its client does not get: by a last line `{"Error":…}` as
/// far as one can still be sent, and so that it is no stream's proper end: a websocket closes as if
/// the request had failed, another body is cut. `call` is that by whose responder `body` was
/// opened.
void break_off(Call& call, net::BodyStream& body, const Error& why);

}  // namespace nomad::api
