// ExecSession of the API: the websocket of `alloc exec` on one side, a command beside a task
// (host::ExecSession) on the other. Lives on the agent of the allocation's own node; other agents
// carry the bytes (relay.hpp).
//
// Frames are those of exec_frames.hpp; behind the last one comes a close with 1000. Whatever fails
// is told by the close alone: 1011 for what is status 500 elsewhere, 1008 for the rest.
//
// Ends: the command's exit; the client's close, disappearance or silence, which kill the command;
// what the client sends wrong; the server's stop.
//
// Memory per session is bounded, whatever the client and the command do: input that the command
// does not take stops the reading (one window of the tunnel, one message of at most 1 MiB); output
// that the client does not take stops the command (`output_window` of host::ExecSession, 4/3 of it
// as frames). The number of sessions is bounded by the limits of the HTTP server's connections.
//
// Threads: callbacks come on threads of the connection, of the session and of timers; they are
// carried out one after the other, and no lock is held while another object is called.
#pragma once

#include "actors/api/http/call.hpp"
#include "runtime/host/exec_session.hpp"

namespace nomad::api {

struct ExecRequest {
  std::string alloc_id;
  std::string task;
  host::ExecCommand command;
  std::string action = {};  ///< Not empty: the command is the task's of that name.
  std::string job_id = {};  ///< Of an action.
};

/// Answers `call`, a websocket's handshake that has been found right, of a caller with his rights,
/// and serves the session.
/// `client` is empty where this agent has none.
void serve_exec(Call call, client::ClientApi client, ExecRequest request);

}  // namespace nomad::api
