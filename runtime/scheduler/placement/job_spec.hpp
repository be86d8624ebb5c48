// JobSpec: a job as the schedulers ask about it: for each group, everything that decides about a
// node, gathered once from job, group and tasks.
//
// May depend on: runtime/object. Immutable once made; views point into the job it holds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/object/object.hpp"
#include "schema/csi.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::scheduler {

struct ConstraintSpec {
  std::string_view left;
  std::string_view right;
  std::string_view operand;
};

struct AffinitySpec {
  std::string_view left;
  std::string_view right;
  std::string_view operand;
  double weight = 0;
};

struct SpreadTargetSpec {
  std::string_view value;
  double percent = 0;
};

struct SpreadSpec {
  std::string_view attribute;
  double weight = 0;
  std::vector<SpreadTargetSpec> targets;
};

/// "At most `limit` allocations for each value of `attribute`", of the job or of the group.
struct DistinctProperty {
  std::string_view attribute;
  std::uint64_t limit = 1;
  bool whole_job = false;
};

struct TaskSpec {
  std::string_view name;
  schema::Task::Reader task;
  std::int64_t cpu = 0;
  std::int64_t cores = 0;  ///< Reserved cores; `cpu` follows from them then.
  std::int64_t memory_mb = 0;
  std::int64_t memory_max_mb = 0;
};

struct VolumeSpec {
  std::string_view source;
  bool read_only = false;
  bool per_alloc = false;
  schema::CsiAccessMode access_mode = schema::CsiAccessMode::UNKNOWN;
  schema::CsiAttachmentMode attachment_mode = schema::CsiAttachmentMode::UNKNOWN;
};

struct GroupSpec {
  std::string_view name;
  schema::TaskGroup::Reader group;
  std::int64_t count = 0;
  std::vector<TaskSpec> tasks;
  std::vector<std::string_view> drivers;
  std::vector<ConstraintSpec> constraints;  ///< Of the group and its tasks; no distinct_*.
  std::vector<AffinitySpec> affinities;     ///< Of job, group and tasks.
  std::vector<SpreadSpec> spreads;          ///< Of job and group; the job's win.
  std::vector<DistinctProperty> distinct_properties;
  std::vector<VolumeSpec> host_volumes;
  std::vector<VolumeSpec> csi_volumes;
  bool has_devices = false;
  bool distinct_hosts_of_job = false;
  bool distinct_hosts_of_group = false;
  bool escapes_class = false;  ///< Some constraint of the group looks at a unique fact.
  std::int64_t disk_mb = 0;

  bool has_preferences() const { return !affinities.empty() || !spreads.empty(); }

  bool has_network() const { return group.getNetworks().size() > 0; }
};

class JobSpec {
public:
  explicit JobSpec(Object<schema::Job> job);
  JobSpec(const JobSpec&) = delete;
  JobSpec& operator=(const JobSpec&) = delete;

  const Object<schema::Job>& object() const { return job_; }

  schema::Job::Reader reader() const { return *job_; }

  bool is_stopped() const { return job_->getStop(); }

  bool is_batch() const { return type_ == "batch"; }

  std::string_view type() const { return type_; }

  const std::vector<ConstraintSpec>& constraints() const { return constraints_; }

  bool escapes_class() const { return escapes_class_; }

  const std::vector<GroupSpec>& groups() const { return groups_; }

  /// Null when the job has no such group.
  const GroupSpec* find(std::string_view group) const;

private:
  GroupSpec make_group(schema::TaskGroup::Reader group) const;

  Object<schema::Job> job_;
  std::string_view type_;
  std::vector<ConstraintSpec> constraints_;
  bool escapes_class_ = false;
  std::vector<GroupSpec> groups_;
};

}  // namespace nomad::scheduler
