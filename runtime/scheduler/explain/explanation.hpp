// Explanation: the answer of explain, as values: who may see which part of it is up to whoever
// shows it (names of nodes, and what is said of single ones, are for those who may read nodes).
//
// May depend on: runtime/state. A value; it outlives the state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/scheduler/explain/obstacle.hpp"
#include "runtime/scheduler/placement/score.hpp"

namespace nomad::scheduler::explain {

/// One thing that is against a node, or against several for which it is the same.
struct Reason {
  Obstacle what = Obstacle::room;
  std::string subject = {};              ///< `constraint ${meta.rack} = r9`
  std::vector<std::string> values = {};  ///< What nodes have instead: some of them, if `has_more`.
  bool has_more = false;
  std::optional<std::int64_t> asked = {};  ///< Of an amount: MHz, MiB or cores.
  std::int64_t least_free = 0;             ///< Of these nodes.
  std::int64_t most_free = 0;

  /// With what nodes have, or without: `constraint ${meta.rack} = r9: r1`.
  std::string text(bool with_values = true) const;
};

/// A node, as far as it is told of.
struct NamedNode {
  std::string id;
  std::string name;
};

/// Nodes against which there is the same.
struct NodeClass {
  std::size_t count = 0;
  std::vector<NamedNode> nodes = {};  ///< The first few.
  std::vector<Reason> reasons = {};
};

/// A node on which the allocation fits.
struct Candidate {
  NamedNode node;
  std::size_t rank = 0;  ///< 1 + those that are better. 0: nobody compares (system jobs).
  double normalized = 0;
  Score score = {};
  std::size_t preempted = 0;  ///< Allocations that would have to end first.
};

/// One node that was asked for.
struct AskedNode {
  NamedNode node = {};
  std::optional<Candidate> candidate = {};  ///< If it fits.
  std::vector<Reason> reasons = {};         ///< All, if it does not.
};

/// A change with which one more allocation is placed, which was tried.
struct Suggestion {
  std::string text;      ///< `64 MiB less memory (task "server": 256 -> 192)`
  NamedNode node = {};   ///< On which it then comes; empty: on none, there is nothing to place.
  bool of_node = false;  ///< The change is one of this node.
  /// The text names a node pool or datacenter that the job does not, or what is free somewhere.
  bool tells_of_nodes = false;
};

/// What has to come first.
struct Wait {
  std::string what;  ///< "blocked-evaluation", "quota", "deployment", …
  std::string text;
  std::string id = {};  ///< Of the evaluation, deployment or allocation; empty: of none.
};

struct GroupAnswer {
  std::string name;
  std::int64_t count = 0;
  std::int64_t live = 0;      ///< Allocations that have not ended.
  std::int64_t queued = 0;    ///< That wait for a place, by the job's summary.
  std::size_t nodes = 0;      ///< Of the cluster.
  std::size_t looked_at = 0;  ///< Fewer than `nodes` if the work had to be bounded.
  std::size_t fitting = 0;
  std::size_t preempting = 0;  ///< Of these, with less important work out of the way.
  std::vector<Candidate> best = {};
  std::vector<NodeClass> refused = {};  ///< Those with the fewest reasons first.
  std::size_t other_classes = 0;        ///< That are not in `refused`, and
  std::size_t other_nodes = 0;          ///< the nodes of these.
  std::optional<AskedNode> asked = {};
  std::vector<std::string> quota = {};  ///< What is exceeded, where a quota has no room.
  std::vector<Suggestion> suggestions = {};
  std::vector<Wait> waits = {};

  bool is_whole() const { return looked_at == nodes; }

  /// `Group "api": 1 allocation waits; none of 3 nodes fits: …`. Without node:read no figures of
  /// nodes.
  std::string summary(bool with_values = true) const;
};

/// How a placement was scored.
struct Scored {
  double normalized = 0;
  std::vector<std::pair<std::string, double>> terms = {};
  std::size_t rank = 0;
  std::size_t of = 0;  ///< Nodes that were compared, as far as they are known.
};

struct AllocAnswer {
  std::string id = {};
  std::string name = {};
  std::string group = {};
  NamedNode node = {};
  std::string desired_status = {};
  std::string client_status = {};
  std::optional<Scored> then = {};  ///< When it was placed.
  std::int64_t looked_at_then = 0;
  std::int64_t filtered_then = 0;
  std::int64_t exhausted_then = 0;
  std::optional<AskedNode> now = {};  ///< Its node, if it were not there; none: the node is gone.
  std::size_t fitting_now = 0;
  std::vector<Wait> waits = {};
};

struct Explanation {
  std::string ns;
  std::string job_id;
  std::string type;
  std::uint64_t version = 0;
  std::uint64_t index = 0;  ///< Of the state that it is about.
  std::vector<GroupAnswer> groups = {};
  std::size_t other_groups = 0;  ///< That were not looked at.
  std::optional<AllocAnswer> alloc = {};

  /// The first line: of the first group that waits for a place, else of all.
  std::string summary(bool with_values = true) const;
};

}  // namespace nomad::scheduler::explain
