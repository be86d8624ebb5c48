// GET /v1/client/allocation/<id>/exec, and GET /v1/job/<id>/action, whose command the job has:
// checks the request where it comes in, and sends it on to the node of the allocation.
#pragma once

#include "actors/api/http/routes.hpp"

namespace nomad::api {

/// Checks query and handshake, whose mistakes are HTTP errors, judges the caller, and dispatches;
/// failures are told by the websocket's close. Its route needs no capability: the token may come
/// with the first message, which the first agent reads (token_handshake.hpp).
Outcome exec_alloc(Call& call, const ClientParts& parts);

/// The same for the action of a task that the query names, in the allocation that it names.
Outcome run_action(Call& call, const ClientParts& parts);

}  // namespace nomad::api
