// NodeMetadata: what the configuration says of the node, and what was set while it ran. Part of the
// client actor; works in its turns.
#pragma once

#include <functional>
#include <utility>

#include "actors/client/tools/client_db.hpp"
#include "actors/core/part.hpp"
#include "actors/roles/node_questions.hpp"
#include "runtime/workload/node_meta.hpp"

namespace nomad::client {

class NodeMetadata {
public:
  struct Parts {
    ClientDb db;
    std::function<void()> changed;  ///< The node is to be registered with other metadata.
  };

  NodeMetadata(actor::Self* self, Parts parts) : self_{self}, parts_{std::move(parts)} {}

  /// To the questions about metadata.
  actor::Answer<door::NodeReply> answer(const door::NodeAsk& msg);

  /// What the last agent left; once, before all else.
  void take_up(workload::DynamicMeta saved);

  /// The configuration is read: from it, or from another one.
  void configure(workload::NodeMeta fixed);

  workload::NodeMeta merged() const { return workload::merged_meta(fixed_, dynamic_); }

private:
  actor::Answer<door::NodeReply> apply(workload::DynamicMeta change);
  door::NodeReply shown() const;

  storage::ClientBatch rows_of(const workload::DynamicMeta& change) const;

  actor::Self* self_;
  Parts parts_;
  bool is_known_ = false;
  workload::NodeMeta fixed_;
  workload::DynamicMeta dynamic_;  ///< As it is saved.
};

}  // namespace nomad::client
