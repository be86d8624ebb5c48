// RemoteServers: the servers of a client node, when they are in other processes. Plays NodeDoor.
//
// Owns:   the list of servers: what the configuration names, then what the servers themselves say
//         with each lease.
// Takes:  Use, and the door's questions. Each goes to one server until that fails; then to the
//         next, once round at most for each question. Every few minutes another one is chosen by
//         chance, so that a server that was away gets its share of the nodes again.
// Parent: root, restart.
// Ends:   by the parent's exit message.
//
// Each call carries the node's secret, which is learned from the node record that is registered
// first. Nobody answering is `unavailable` "No servers"; the client tries again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/client/server_list.hpp"
#include "actors/roles/node_door.hpp"
#include "actors/rpc/transport.hpp"

namespace nomad::client {

struct RemoteServersOptions {
  std::vector<std::string> servers;  ///< "10.0.0.7:4647"
  std::string region;
  std::chrono::milliseconds timeout{10'000};  ///< For an answer; blocking queries have their own.
  std::uint64_t random_seed = 0;              ///< Of the order in which servers are tried.
  /// At least so long, and half of it more at most, a server is used: Nomad's shortest time.
  std::chrono::milliseconds rebalance_after = std::chrono::minutes{5};
  std::shared_ptr<ServerList> list = {};  ///< Told of the servers in use; may be null.
  /// What the node proves itself by, from its registration on. Outlives the actor's state.
  std::shared_ptr<rpc::Credentials> credentials = std::make_shared<rpc::Credentials>();
};

namespace remote_servers {

/// At most so many addresses are taken at once.
inline constexpr std::size_t most_addresses = 100;

/// From now on these servers are used: those of them that answer, each of which is asked once.
/// Until a server says otherwise with a lease. `rejected` with each one's reason when none does.
struct Use {
  using is_message = void;
  std::vector<std::string> addresses;  ///< "10.0.0.7:4647"; some.
};

struct Used {
  using is_message = void;
  std::size_t count = 0;  ///< Those that have answered.
};

}  // namespace remote_servers

/// What operators change of the servers that a client node uses.
using ServerChoice = actor::Interface<remote_servers::Used(remote_servers::Use)>;

using RemoteServers = NodeDoor::extend<remote_servers::Used(remote_servers::Use)>;

RemoteServers spawn_remote_servers(const actor::Owner& owner,
                                   const rpc::CallTransport& transport,
                                   RemoteServersOptions options);

}  // namespace nomad::client
