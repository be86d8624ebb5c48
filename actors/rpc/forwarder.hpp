// Forwarder: brings a request to the server that must serve it: the leader, or any server of
// another region. Used by the MethodRouter for what comes over the network, and by the HTTP API for
// what users send to a follower.
//
// Rules: a request is sent on at most `max_hops` times. While no leader is known, or he turns out
// to be none, it waits and looks again, for `hold` at most and never beyond its deadline; then
// "No cluster leader". What has been sent and not answered is sent again only if its method may be
// repeated (`Repeat::freely`).
//
// Takes:  SendOn.
// Owns:   requests that wait for a leader, and those under way.
// Parent: server, restart.
// Ends:   by the parent's exit message; what is open fails with `unavailable`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "actors/core/asker.hpp"
#include "actors/rpc/router.hpp"

namespace nomad::rpc {

/// Where the leader of this region is, now, as far as this server knows.
struct LeaderAddress {
  bool is_self = false;     ///< And ready to serve.
  std::string rpc_address;  ///< Empty: nobody knows one.
};

/// What the forwarder asks of the rest of the server. Called on its thread; thread-safe and quick.
struct ClusterView {
  std::string region;  ///< Our own.
  std::function<LeaderAddress()> leader_address;

  /// Servers of a region that seem alive, in any order. Empty: none is known.
  std::function<std::vector<std::string>(const std::string& region)> servers_in;
};

namespace forwarder {

/// Answered as Transport answers: by a Reply, always.
struct SendOn {
  using is_message = void;
  transport::Call call;  ///< `to` is filled in; `hops` is counted up.
};

}  // namespace forwarder

using Forwarder = actor::Interface<transport::Reply(forwarder::SendOn)>;

struct ForwarderOptions {
  std::chrono::milliseconds hold{5'000};
  std::chrono::milliseconds first_pause{50};  ///< Doubles to `hold` / 16.
  std::uint8_t max_hops = 2;
  std::uint64_t random_seed = 0;
};

Forwarder spawn_forwarder(const actor::Owner& owner,
                          const Transport& transport,
                          ClusterView view,
                          ForwarderOptions options);

/// Sends on what a MethodRouter may not serve here, with the caller's credentials and address, and
/// answers it. For `MethodRouter::set_forward`.
void send_on(actor::Asker& asker,
             const Forwarder& forwarder,
             const Caller& caller,
             const Inbound& inbound);

}  // namespace nomad::rpc
