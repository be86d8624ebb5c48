// BlockedEvals: evaluations that wait for capacity, and which of them a change sets free.
//
// May depend on: runtime/base. Not thread-safe; one actor owns it.
//
// An evaluation blocks because some group found no node. It remembers which computed node classes
// it found *ineligible*; capacity in any other class may help it. An *escaped* one depends on
// facts outside the class (unique attributes), so any change may help. A system evaluation blocks
// for one node, one whose namespace has used up its quota for that quota: beside nodes, or alone
// where all that it lacks is room in the quota.
//
// Invariants:
//   (1) one blocked evaluation for each (job) of service and batch, one for each (job, node) of
//       system jobs; a displaced one is a duplicate, to be cancelled;
//   (2) no lost wake-up: a change at index i that may help sets free every evaluation whose
//       snapshot is older than i, also when the change came before `block`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nomad::cluster {

/// What the tracker needs to know of a blocked evaluation.
struct BlockedEval {
  std::string id;
  std::string ns;
  std::string job_id;
  std::string type;
  std::string node_id;  ///< Set for system evaluations.
  std::int32_t priority = 50;
  std::uint64_t create_index = 0;
  std::uint64_t modify_index = 0;
  std::uint64_t snapshot_index = 0;  ///< The state it was decided on.
  bool escaped = false;
  bool max_plan_attempts = false;               ///< Retried by `unblock_failed` as well.
  std::vector<std::string> ineligible_classes;  ///< Sorted.
  std::vector<std::string> eligible_classes;    ///< Sorted.
  std::string quota = {};                       ///< That its namespace has used up; empty: none.
  bool waits_for_volumes = false;               ///< It asks for volumes of CSI.
  bool needs_nodes = true;                      ///< It waits for nodes (too).
  std::string token;  ///< Of the delivery that reblocks it; empty for a new one.

  // What its groups found too little of, for metrics.
  std::int64_t cpu = 0;                        ///< MHz
  std::int64_t memory_mb = 0;                  ///< MiB
  std::vector<std::string> datacenters = {};   ///< With nodes that it could be on.
  std::vector<std::string> node_classes = {};  ///< That were full; "" if nodes have none.
};

class BlockedEvals {
public:
  struct Stats {
    std::size_t blocked = 0;
    std::size_t escaped = 0;
    std::size_t quota_limit = 0;
  };

  /// What blocked evaluations ask for.
  struct Demand {
    std::int64_t cpu = 0;        ///< MHz
    std::int64_t memory_mb = 0;  ///< MiB
    std::size_t evals = 0;
  };

  using Demands = std::map<std::pair<std::string, std::string>, Demand>;

  /// Tracks `eval`. Returns it when a change since its snapshot may already help: it is not
  /// tracked then but to be enqueued at once. A known id is ignored.
  std::optional<BlockedEval> block(BlockedEval eval);

  /// Capacity of `node_class` grew at `index`. Returns, and forgets, what is to be enqueued.
  std::vector<BlockedEval> unblock_class(std::string_view node_class, std::uint64_t index);

  /// Something changed on one node: the system evaluations waiting for it are free.
  std::vector<BlockedEval> unblock_node(std::string_view node_id, std::uint64_t index);

  /// There is more of a quota at `index`. Returns, and forgets, what waits for it.
  std::vector<BlockedEval> unblock_quota(std::string_view quota, std::uint64_t index);

  /// Volumes of a namespace ("": of any) may be claimed at `index` that could not be before.
  std::vector<BlockedEval> unblock_volumes(std::string_view ns, std::uint64_t index);

  /// As `unblock_volumes`, of any namespace, for a tracker that begins.
  void note_volumes(std::uint64_t index);

  /// As `unblock_quota`, for a tracker that begins.
  void note_quota(std::string_view quota, std::uint64_t index);

  /// All may be placed otherwise from `index` on.
  std::vector<BlockedEval> unblock_all(std::uint64_t index);

  /// As `unblock_all`, for a tracker that begins.
  void note_change(std::uint64_t index);

  /// Something of these grew at `index`, of which nobody was told: for a tracker that begins with
  /// a state in which evaluations wait.
  void note_change(std::string_view node_class, std::string_view node_id, std::uint64_t index);

  /// Those that gave up after too many plan attempts; called periodically.
  std::vector<BlockedEval> unblock_failed();

  /// The job needs nothing any more: it is stopped, or everything is placed.
  void untrack(std::string_view ns, std::string_view job_id);

  /// Removes and returns at most `limit` ids displaced by newer ones (1), oldest first.
  std::vector<std::string> take_duplicates(std::size_t limit);

  /// Forgets class, node and quota changes up to `index`: no evaluation of an older snapshot comes.
  void prune(std::uint64_t index);

  void clear();
  Stats stats() const;

  /// Of each job (namespace, id) that is blocked.
  const Demands& demand_of_jobs() const { return demand_of_jobs_; }

  /// Of each datacenter and node class that lacks something.
  const Demands& demand_of_classes() const { return demand_of_classes_; }

private:
  using Slot = std::string;                    ///< namespace NUL job NUL node
  using Signature = std::vector<std::string>;  ///< Ineligible classes; equal for many jobs.

  static Slot slot_of(std::string_view ns, std::string_view job_id, std::string_view node_id);
  bool missed_unblock(const BlockedEval& eval) const;
  BlockedEval remove(const std::string& id);
  void count(const BlockedEval& eval, bool is_added);
  std::vector<BlockedEval> remove_all(const std::vector<std::string>& ids);

  std::unordered_map<std::string, BlockedEval> evals_;
  std::map<Slot, std::string> slots_;
  std::set<std::string> escaped_;
  std::map<Signature, std::set<std::string>> captured_;
  std::map<std::string, std::set<std::string>, std::less<>> by_node_;
  std::map<std::string, std::set<std::string>, std::less<>> by_quota_;
  std::map<std::string, std::set<std::string>, std::less<>> by_volumes_;  ///< By namespace.
  std::set<std::string> max_plan_attempts_;
  std::uint64_t last_change_of_all_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> class_changes_;
  std::map<std::string, std::uint64_t, std::less<>> node_changes_;
  std::map<std::string, std::uint64_t, std::less<>> quota_changes_;
  std::map<std::string, std::uint64_t, std::less<>> volume_changes_;  ///< "": of any namespace.
  std::vector<std::string> duplicates_;
  Demands demand_of_jobs_;
  Demands demand_of_classes_;
};

}  // namespace nomad::cluster
