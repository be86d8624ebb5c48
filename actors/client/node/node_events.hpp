// NodeEvents: what happens on the node, on its way to the servers: a few together, tried again
// until they are there. Part of the client actor; works in its turns.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "actors/client/client.hpp"
#include "actors/client/fingerprint/node_builder.hpp"
#include "actors/core/part.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/base/random.hpp"

namespace nomad::client {

class NodeEvents {
public:
  struct Due {
    using is_message = void;
    std::uint64_t round;
  };

  using Messages = actor::Interface<void(Due)>;

  struct Parts {
    NodeDoor servers;
    bool dev = false;
    UnixClock unix_now;
    Random& random;
    const NodeIdentity& identity;
    const bool& stopping;  ///< The client's.
  };

  NodeEvents(actor::PartSelf<Messages> self, Parts parts) : self_{self}, parts_{std::move(parts)} {}

  NodeEvents(const NodeEvents&) = delete;
  NodeEvents& operator=(const NodeEvents&) = delete;

  auto handlers() {
    return actor::handlers(
        [this](const client_actor::Happened& msg) {
          happened(msg.subsystem, msg.message, msg.details);
        },
        [this](Due msg) { due(msg); });
  }

  /// It happened now. The servers keep ten events of a node, and so does this: of more that wait
  /// the oldest is dropped.
  void happened(std::string_view subsystem,
                std::string_view message,
                const std::map<std::string, std::string>& details);

private:
  void due(Due msg);
  void send_later();

  actor::PartSelf<Messages> self_;
  Parts parts_;
  std::deque<Object<schema::NodeEvent>> waiting_;
  bool sending_ = false;
  std::uint64_t round_ = 0;
};

}  // namespace nomad::client
