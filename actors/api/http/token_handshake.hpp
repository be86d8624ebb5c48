// A websocket's handshake with `ws_handshake=true`, as browsers need it: the first message brings
// the token. The agent that the client asked reads it, whichever agent serves the session, and goes
// on as with a token that came in the request's header: so it judges the caller itself, and its
// own settings decide whether anybody is judged at all.
//
// Threads: as those of an Exchange; what the client sends is taken in turns.
// Tests: token_handshake_test, exec_test, websocket_stream_test.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "actors/api/http/call.hpp"
#include "runtime/base/result.hpp"
#include "runtime/net/http/websocket.hpp"

namespace nomad::api {

/// Answers `call`, a websocket's handshake that has been found right, reads the first message, and
/// calls `then` with the call of who showed that token, without rights yet. Its request asks for no
/// handshake any more; its responder may open a tunnel, and tells all else by the websocket's
/// close.
void read_token_handshake(Call call, std::function<void(Call)> then);

/// Answers the websocket's handshake, and refuses what it is for by a close.
void refuse_websocket(Call& call, const Answer& answer);

/// 1011 for what is status 500 elsewhere, 1008 for the rest.
net::websocket::CloseCode close_code_of(unsigned status);

/// The token of a first message `{"version":1,"auth_token":"…"}`; empty without. `invalid_argument`
/// for another version, in Nomad's words.
Result<std::string> parse_token_handshake(std::string_view text);

}  // namespace nomad::api
