// NodeDisks: has the directories of the node's allocations looked at, one after the other and a
// little at a time, each once in `disk_look_interval`. What was found goes to the allocation's
// runner. Part of the client actor; works in its turns, and reads in steps.
//
// One step is under way at most: a file system that hangs costs one thread, and nobody is told
// anything until it goes on.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/node_allocs.hpp"
#include "actors/core/part.hpp"

namespace nomad::host {
class DirectoryWalk;
}

namespace nomad::client {

class NodeDisks {
public:
  struct Due {
    using is_message = void;
  };

  using Messages = actor::Interface<void(Due)>;

  struct Parts {
    BlockingPool steps;
    std::string alloc_dir;
    const std::chrono::nanoseconds& interval;  ///< As ClientOptions::disk_look_interval.
    const bool& enforce;                       ///< As ClientOptions::disk_enforce.
    const NodeAllocs& allocs;
    const bool& stopping;  ///< The client's.
  };

  NodeDisks(actor::PartSelf<Messages> self, Parts parts) : self_{self}, parts_{std::move(parts)} {}

  NodeDisks(const NodeDisks&) = delete;
  NodeDisks& operator=(const NodeDisks&) = delete;

  auto handlers() {
    return actor::handlers([this](Due) { due(); });
  }

  /// Begins, if the options want it and it has not: when the node runs, and when they changed.
  void begin();

private:
  struct Visit {
    std::string root;
    std::vector<std::string> folders;  ///< That should be in it.
    AllocRunner runner;
  };

  void due();
  void wait(std::chrono::nanoseconds pause);
  void begin_round();
  void look();

  actor::PartSelf<Messages> self_;
  Parts parts_;
  bool under_way_ = false;             ///< A timer or a step is.
  std::vector<Visit> waiting_;         ///< Of this round; the last is next, or being looked at.
  std::chrono::nanoseconds pause_{0};  ///< Between two of them.
  std::shared_ptr<host::DirectoryWalk>
      walk_;  ///< Through the last of `waiting_`; empty: not begun.
};

}  // namespace nomad::client
