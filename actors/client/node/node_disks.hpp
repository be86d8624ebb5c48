// NodeDisks: has the directories of the node's allocations looked at, one after the other and a
// little at a time, each once in `disk_look_interval`. What was found goes to the allocation's
// runner. Part of the client actor; works in its turns, and reads in steps.
//
// One step is under way at most: a file system that hangs costs one thread, and nobody is told
// anything until it goes on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/client/client_facts.hpp"
#include "actors/client/node_allocs.hpp"

namespace nomad::host {
class DirectoryWalk;
}

namespace nomad::client {

class NodeDisks {
public:
  /// All outlive it.
  NodeDisks(ClientSelf::pointer self, const ClientFacts& facts, const NodeAllocs& allocs)
      : self_{self}, facts_{facts}, allocs_{allocs} {}

  NodeDisks(const NodeDisks&) = delete;
  NodeDisks& operator=(const NodeDisks&) = delete;

  /// Begins, if the options want it and it has not: when the node runs, and when they changed.
  void begin();

  /// A timer.
  void due();

private:
  struct Visit {
    std::string root;
    std::vector<std::string> folders;  ///< That should be in it.
    AllocRunner runner;
  };

  void wait(std::chrono::nanoseconds pause);
  void begin_round();
  void look();

  ClientSelf::pointer self_;
  const ClientFacts& facts_;
  const NodeAllocs& allocs_;
  bool under_way_ = false;             ///< A timer or a step is.
  std::vector<Visit> waiting_;         ///< Of this round; the last is next, or being looked at.
  std::chrono::nanoseconds pause_{0};  ///< Between two of them.
  std::shared_ptr<host::DirectoryWalk>
      walk_;  ///< Through the last of `waiting_`; empty: not begun.
};

}  // namespace nomad::client
