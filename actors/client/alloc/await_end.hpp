// What hooks of an allocation hear of the allocation that it replaces, and of those that it has
// preempted: of this node's by the client, of others by the servers.
#pragma once

#include <string>

#include "actors/client/alloc_facts.hpp"
#include "actors/roles/node_door.hpp"

namespace nomad::client {

/// How the node asks the servers.
struct NodeQuestions {
  std::string node_id;
  NodeDoor servers;
};

/// Answers `AgentRequest.awaitEnd`, with a PreviousAlloc. `rejected` for an allocation that this
/// one has nothing to do with; the servers' errors. `parent` is the runner's.
actor::Answer<plugin_agent::Answered> await_end(AllocSelf::pointer self,
                                                const AllocFacts& facts,
                                                const NodeQuestions& questions,
                                                const AllocRunnerParent& parent,
                                                const std::string& alloc_id);

}  // namespace nomad::client
