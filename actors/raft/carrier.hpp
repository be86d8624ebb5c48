// Carrier: what takes letters to other servers, as a role. The RPC layer plays it; tests and the
// simulation play it with a network of their own. Losing, doubling and reordering letters is
// allowed: the core copes.
#pragma once

#include <cstdint>
#include <string>

#include "actors/core/actor.hpp"
#include "runtime/raft/wire.hpp"

namespace nomad::raft {

namespace carrier {

/// The letter `number` is on its way: it waits in no queue of this machine any more.
struct Carried {
  using is_message = void;
  std::uint64_t number = 0;
};

/// The letter `number` did not leave, or the connection broke with it: it probably never arrives.
struct Lost {
  using is_message = void;
  std::uint64_t number = 0;
  std::string reason;  ///< For people.
};

/// Whoever asked for a letter to be carried hears exactly one of them for each.
using Sender = actor::Interface<void(Carried), void(Lost)>;

struct Carry {
  using is_message = void;
  ServerId to;
  std::string address;  ///< "host:port"; empty when only `to` is known.
  Lane lane = Lane::normal;
  Bytes letter;
  std::uint64_t number = 0;
  Sender sender;
};

}  // namespace carrier

/// Letters of one lane to one server arrive in order as far as they arrive.
using Carrier = actor::Interface<void(carrier::Carry)>;

}  // namespace nomad::raft
