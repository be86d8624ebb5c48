// NodeMetrics: what the node and its tasks have and use, gathered when it is asked for. Part of the
// client actor; works in its turns. Nothing is measured while nobody asks.
#pragma once

#include <utility>

#include "actors/client/node_allocs.hpp"
#include "actors/client/usage_reader.hpp"
#include "actors/core/part.hpp"
#include "actors/roles/client_api.hpp"
#include "schema/node.capnp.h"

namespace nomad::client {

class NodeMetrics {
public:
  using Messages = actor::Interface<>;  // Those of ClientApi.

  struct Parts {
    const UsageReader& usage_reader;  ///< Empty until the machine is known.
    const Object<schema::Node>& node;
    const NodeAllocs& allocs;
  };

  NodeMetrics(actor::Self* self, Parts parts) : self_{self}, parts_{parts} {}

  auto handlers() {
    return actor::handlers([this](const client_api::ReadMetrics& msg) { return gather(msg); });
  }

  /// What the machine uses, if the caller may ask.
  actor::Answer<door::NodeReply> answer(const door::NodeAsk& msg);

private:
  /// Asks the reader and, for metrics of tasks, the runners of allocations that run. What does not
  /// answer within three seconds is left out.
  actor::Answer<client_api::ClientMetrics> gather(const client_api::ReadMetrics& msg);

  actor::Self* self_;
  Parts parts_;
};

}  // namespace nomad::client
