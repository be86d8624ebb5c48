// MetricBuilder: counts what one selection of a node looked at and why nodes fell out; becomes the
// AllocMetric that `alloc status` and `eval status` show.
//
// May depend on: runtime/object.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/scheduler/placement/job_spec.hpp"
#include "runtime/scheduler/placement/score.hpp"
#include "schema/alloc.capnp.h"

namespace nomad::scheduler {

class MetricBuilder {
public:
  /// A node's scores; the best five are kept.
  struct ScoredNode {
    std::string node_id;
    Score score;
    double normalized = 0;
  };

  void evaluated() { ++nodes_evaluated_; }

  /// The node is no candidate: `reason` as ConstraintFiltered shows it.
  void filtered(std::string_view node_class, std::string_view reason);

  /// The namespace's quota has no room: `exceeded` as QuotaExhausted shows it.
  void quota_exhausted(std::vector<std::string> exceeded) { quota_ = std::move(exceeded); }

  const std::vector<std::string>& quota_exhausted() const { return quota_; }

  bool has_quota_exhausted() const { return !quota_.empty(); }

  /// The node has no room: `dimension` as DimensionExhausted shows it.
  void exhausted(std::string_view node_class, std::string_view dimension);

  /// One of those that were `exhausted`; empty if none was.
  std::string_view exhausted_dimension() const {
    return dimension_exhausted_.empty() ? std::string_view{} : dimension_exhausted_.begin()->first;
  }

  void scored(std::string_view node_id, const Score& score);

  /// Begins anew with another selection for the same allocation; keeps `set_nodes`.
  void restart();

  /// An allocation of the group was placed nowhere: what its tasks ask for of the exhausted cpu and
  /// memory is added up. After the nodes were counted; does nothing if none was exhausted.
  void exhaust_resources(const GroupSpec& group);

  /// Facts about the whole selection.
  void set_nodes(std::int64_t in_pool, const std::map<std::string, std::int64_t>& by_datacenter);

  /// One more allocation of the group failed after this one, without a try.
  void coalesce(const GroupSpec& group) {
    ++coalesced_failures_;
    exhaust_resources(group);
  }

  std::int64_t nodes_filtered() const { return nodes_filtered_; }

  /// Adds the filter counts of another selection, for system jobs that ask node by node.
  void merge_filters(const MetricBuilder& other);

  Object<schema::AllocMetric> build() const;

  /// The same with the scores of one node only.
  Object<schema::AllocMetric> build_for(std::string_view node_id) const;

private:
  struct TaskResources {
    std::int64_t cpu = 0;
    std::int64_t memory_mb = 0;
  };

  using Counts = std::map<std::string, std::int64_t, std::less<>>;

  Object<schema::AllocMetric> build_with(std::span<const ScoredNode> scores) const;

  std::int64_t nodes_evaluated_ = 0;
  std::int64_t nodes_filtered_ = 0;
  std::int64_t nodes_exhausted_ = 0;
  std::int64_t nodes_in_pool_ = 0;
  std::int64_t coalesced_failures_ = 0;
  std::map<std::string, std::int64_t> nodes_available_;
  Counts class_filtered_;
  Counts constraint_filtered_;
  Counts class_exhausted_;
  Counts dimension_exhausted_;
  std::vector<std::string> quota_;
  std::map<std::string, TaskResources, std::less<>> resources_exhausted_;  ///< By task.
  std::vector<ScoredNode> best_;
};

}  // namespace nomad::scheduler
