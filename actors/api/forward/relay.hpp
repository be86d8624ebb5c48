// Relay: passes a request on to the agent that must serve it, and that agent's answer back to the
// client, at the client's pace.
//
// Rules: what surely was not served is tried again, where to being asked anew, for `hold` at most;
// then the client gets the error. What may have been served is tried again only if it changes
// nothing, and once within `hold`. An answer is not waited for longer than its giver leads, if he
// is asked because he does (LeaderWatch). Only the agent that the client asked tries again: those
// between them pass the refusal back (`refuse_unserved`).
//
// A body that is in a file (`operator snapshot restore`) follows the request over the stream of the
// call, from its begin for each try, as the other agent takes it.
//
// Tunnels (`exec`): an answer with status 101 to a request for another protocol makes the relay
// carry bytes both ways, as they are, each direction at its receiver's pace. Whichever side goes,
// the other is told; an end of one direction is passed on as such. Held per tunnel and direction,
// at most: a window of the stream to the other agent (256 KiB) and one of the connection's.
//
// Threads: callbacks come on threads of the transport, of timers and of gateways, and take turns on
// a strand; `find` and `run` are called there.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "actors/api/http/call.hpp"

namespace nomad::api {

/// An agent to send a request to.
struct RelayTarget {
  std::string address;           ///< Of a server; empty: the node, over its own connection.
  std::string node_id = {};      ///< That node.
  std::string target_node = {};  ///< The node that the server is to reach.
  bool is_leader = false;        ///< It is asked because it leads.
};

/// After all it is to be served here.
struct ServeHere {};

using Found = std::variant<ServeHere, RelayTarget>;

/// Finds out where to; calls back once, on any thread. `no_leader` and `unavailable` may pass.
using Find = std::function<void(std::function<void(Result<Found>)>)>;

/// Serves it here.
using Run = std::function<void(Call)>;

/// `region`: the request is passed on as one that names it. A server of that region would pass it
/// back if it named another one.
void relay(Call call, Find find, Run run, std::string_view region = {});

/// Answers what could not be served for want of a leader or of a path, so that whoever passed the
/// request on knows that nothing has happened.
void refuse_unserved(Call& call, const Error& why);

}  // namespace nomad::api
