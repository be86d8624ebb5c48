// NodeSockets: has the sockets of the node's tasks (TaskSockets) looked at once a minute, all in
// one step, and those put back that are not where they were: the task, or somebody else who may
// write there, has taken one away or put his own in its place. Part of the client actor; works in
// its turns.
#pragma once

#include <memory>
#include <utility>

#include "actors/client/plugin_catalog.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/client/tools/task_sockets.hpp"
#include "actors/core/part.hpp"

namespace nomad::client {

class NodeSockets {
public:
  struct Due {
    using is_message = void;
  };

  using Messages = actor::Interface<void(Due)>;

  struct Parts {
    BlockingPool steps;
    const std::shared_ptr<const PluginCatalog>& plugins;  ///< With the sockets, if tasks have any.
    const bool& stopping;                                 ///< The client's.
  };

  NodeSockets(actor::PartSelf<Messages> self, Parts parts)
      : self_{self}, parts_{std::move(parts)} {}

  NodeSockets(const NodeSockets&) = delete;
  NodeSockets& operator=(const NodeSockets&) = delete;

  auto handlers() {
    return actor::handlers([this](Due) { due(); });
  }

  /// When the node runs. Once.
  void begin();

private:
  void wait();
  void due();

  actor::PartSelf<Messages> self_;
  Parts parts_;
  std::shared_ptr<TaskSockets> sockets_;  ///< Since it has begun.
};

}  // namespace nomad::client
