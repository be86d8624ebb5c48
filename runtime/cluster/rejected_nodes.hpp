// RejectedNodes: nodes on which plans are refused again and again, because schedulers and the plan
// applier do not agree about them. Once one is refused often enough within a while, it is to become
// ineligible; but only few nodes in a row, lest a mistake of our own empties the cluster.
//
// May depend on: runtime/base, object. Not thread-safe; the plan applier owns one. Time is passed
// in.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "runtime/object/object.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

/// `server.plan_rejection_tracker` of the agent's configuration.
struct RejectedNodeOptions {
  bool enabled = false;
  std::size_t node_threshold = 100;
  std::chrono::nanoseconds node_window = std::chrono::minutes{5};
};

class RejectedNodes {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  static constexpr std::size_t most_nodes
      = 50;                                   ///< Remembered; the longest quiet one is forgotten.
  static constexpr double most_at_once = 10;  ///< That become ineligible in a row, …
  static constexpr std::chrono::minutes one_more_after{6};  ///< … and then one each so often.

  explicit RejectedNodes(const RejectedNodeOptions& options = {}) : options_{options} {}

  /// A plan's part for the node was refused. Whether the node is to become ineligible.
  bool add(std::string_view node_id, TimePoint now);

  /// How many refusals of each remembered node lie within the window.
  std::map<std::string, std::size_t> scores(TimePoint now) const;

private:
  using Refusals = std::deque<TimePoint>;

  bool is_in_window(TimePoint then, TimePoint now) const {
    return then >= now - options_.node_window;
  }

  void forget_one();
  bool may_take_another(TimePoint now);

  RejectedNodeOptions options_;
  std::map<std::string, Refusals, std::less<>> nodes_;
  double allowance_ = most_at_once;
  TimePoint allowance_at_{};
};

/// Takes such a node out of scheduling; its events say why. `now` is Unix nanoseconds.
Object<schema::Command> take_out_rejected(std::string_view node_id, std::int64_t now);

}  // namespace nomad::cluster
