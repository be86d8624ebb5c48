// What the node and its tasks have and use, gathered when metrics are asked for. In the client's
// turns; nothing is measured while nobody asks.
#pragma once

#include "actors/client/client_facts.hpp"
#include "actors/client/node_allocs.hpp"

namespace nomad::client {

/// Asks `stats` and, for `of_tasks`, the runners of allocations that run. What does not answer
/// within three seconds is left out.
actor::Answer<client_api::Figures> gather_figures(ClientSelf::pointer self,
                                                  const ClientFacts& facts,
                                                  const NodeAllocs& allocs,
                                                  const StatsReader& stats,
                                                  bool of_tasks);

}  // namespace nomad::client
