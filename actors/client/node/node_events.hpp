// NodeEvents: what happens on the node, on its way to the servers: a few together, tried again
// until they are there. Part of the client actor; works in its turns.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "actors/client/client_facts.hpp"

namespace nomad::client {

class NodeEvents {
public:
  /// `facts` outlives it.
  NodeEvents(ClientSelf::pointer self, ClientFacts& facts) : self_{self}, facts_{facts} {}

  NodeEvents(const NodeEvents&) = delete;
  NodeEvents& operator=(const NodeEvents&) = delete;

  /// It happened now. The servers keep ten events of a node, and so does this: of more that wait
  /// the oldest is dropped.
  void happened(std::string_view subsystem,
                std::string_view message,
                const std::map<std::string, std::string>& details);

  /// A timer.
  void due(const client_timer::EventsDue& msg);

private:
  void send_later();

  ClientSelf::pointer self_;
  ClientFacts& facts_;
  std::deque<Object<schema::NodeEvent>> waiting_;
  bool sending_ = false;
  std::uint64_t round_ = 0;
};

}  // namespace nomad::client
