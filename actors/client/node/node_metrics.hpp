// NodeMetrics: what the node and its tasks have and use, gathered when it is asked for. Part of the
// client actor; works in its turns. Nothing is measured while nobody asks, but for what is kept of
// the past (workload::UsageHistory): that is read each ten seconds while something runs here.
#pragma once

#include <memory>
#include <utility>

#include "actors/client/node_allocs.hpp"
#include "actors/client/usage_reader.hpp"
#include "actors/core/part.hpp"
#include "actors/roles/client_api.hpp"
#include "runtime/workload/usage/usage_history.hpp"
#include "schema/node.capnp.h"

namespace nomad::client {

class NodeMetrics {
public:
  struct SampleDue {
    using is_message = void;
  };

  using Messages = actor::Interface<void(SampleDue)>;

  struct Parts {
    const UsageReader& usage_reader;  ///< Empty until the machine is known.
    const Object<schema::Node>& node;
    const NodeAllocs& allocs;
    UnixClock unix_now;
    const bool& keeps;     ///< As ClientOptions::keeps_usage.
    const bool& stopping;  ///< The client's.
  };

  NodeMetrics(actor::PartSelf<Messages> self, Parts parts)
      : self_{self}, parts_{std::move(parts)} {}

  NodeMetrics(const NodeMetrics&) = delete;
  NodeMetrics& operator=(const NodeMetrics&) = delete;

  auto handlers() {
    return actor::handlers([this](const client_api::ReadMetrics& msg) { return gather(msg); },
                           [this](SampleDue) { sample_due(); });
  }

  /// Something runs here: what the machine uses is read for the history, if that is kept and it is
  /// not read already.
  void begin();

  /// What the machine uses, or has used, if the caller may ask.
  actor::Answer<door::NodeReply> answer(const door::NodeAsk& msg);

private:
  /// Asks the reader and, for metrics of tasks, the runners of allocations that run. What does not
  /// answer within three seconds is left out.
  actor::Answer<client_api::ClientMetrics> gather(const client_api::ReadMetrics& msg);

  void wait();
  void sample_due();
  void keep(const client_api::HostUsage& usage);
  door::NodeReply history() const;

  actor::PartSelf<Messages> self_;
  Parts parts_;
  bool samples_ = false;                             ///< A timer or a reading is under way.
  std::shared_ptr<workload::UsageHistory> history_;  ///< Null until there is something in it.
};

}  // namespace nomad::client
