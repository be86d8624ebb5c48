// Carrier: what takes messages to other servers, as a role. The RPC layer plays it; tests and the
// simulation play it with a network of their own. Losing, doubling and reordering messages is
// allowed: the core copes.
//
// A function and no actor: a message passes through few enough hands for three servers to agree on
// thousands of writes a second.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/result.hpp"
#include "runtime/raft/wire.hpp"

namespace nomad::raft {

/// A message to be carried.
struct Carry {
  ServerId to;
  std::string address;  ///< "host:port"; empty when only `to` is known.
  Lane lane = Lane::normal;
  Bytes bytes;

  /// Told once, on any thread, and to be quick: the message waits in no queue of this machine any
  /// more; or why it did not leave, or that the connection broke with it, so that it probably never
  /// arrives. Destroyed untold: it did not leave, either.
  std::function<void(Result<>)> done;
};

/// Called on the threads of the node and of the peers, one message of one server and lane at a
/// time. Messages of one lane to one server arrive in order as far as they arrive.
using Carrier = std::function<void(Carry)>;

}  // namespace nomad::raft
