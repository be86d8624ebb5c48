// NodeMetadata: what the configuration says of the node, and what was set while it ran. Part of the
// client actor; works in its turns.
#pragma once

#include <functional>

#include "actors/client/client_facts.hpp"

namespace nomad::client {

class NodeMetadata {
public:
  /// `facts` outlives it. `changed` is called when the node is to be registered with other
  /// metadata.
  NodeMetadata(ClientSelf::pointer self, const ClientFacts& facts, std::function<void()> changed)
      : self_{self}, facts_{facts}, changed_{std::move(changed)} {}

  /// What the last agent left; once, before all else.
  void take_up(workload::DynamicMeta saved);

  /// The configuration is read: from it, or from another one.
  void configure(workload::NodeMeta fixed);

  workload::NodeMeta merged() const { return workload::merged_meta(fixed_, dynamic_); }

  actor::Answer<client_api::NodeMeta> read() const;
  actor::Answer<client_api::NodeMeta> apply(client_api::ApplyMeta& msg);

private:
  client_api::NodeMeta shown() const { return {merged(), dynamic_, fixed_}; }

  storage::ClientBatch rows_of(const workload::DynamicMeta& change) const;

  ClientSelf::pointer self_;
  const ClientFacts& facts_;
  std::function<void()> changed_;
  bool is_known_ = false;
  workload::NodeMeta fixed_;
  workload::DynamicMeta dynamic_;  ///< As it is saved.
};

}  // namespace nomad::client
