// The handshake of `alloc exec` with `ws_handshake=true`: the first message of the websocket brings
// the token. The agent that the client asked reads it, whichever agent serves the session, and goes
// on as with a token that came in the request's header: so it judges the caller itself, and its
// own settings decide whether anybody is judged at all.
//
// Threads: as those of an Exchange; what the client sends is taken in turns.
// Tests: exec_test.
#pragma once

#include <functional>

#include "actors/api/http/call.hpp"
#include "runtime/net/http/websocket.hpp"

namespace nomad::api {

/// Answers `call`, a websocket's handshake that has been found right, reads the first message, and
/// calls `then` with the call of who showed that token, without rights yet. Its request asks for no
/// handshake any more; its responder may open a tunnel, and tells all else by the websocket's
/// close.
void read_exec_handshake(Call call, std::function<void(Call)> then);

/// Answers the handshake, and refuses the session by a close.
void refuse_exec(Call& call, const Answer& answer);

/// 1011 for what is status 500 elsewhere, 1008 for the rest.
net::websocket::CloseCode exec_close_code(unsigned status);

}  // namespace nomad::api
