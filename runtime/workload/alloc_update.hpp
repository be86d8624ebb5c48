// What a client tells the servers of an allocation, and the objects that carry it: conversions
// between the client's own values and schema objects.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/object/alloc_view.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/task_state.hpp"
#include "schema/alloc.capnp.h"

namespace nomad::workload {

/// What the servers know of an allocation, as much as is needed to see that a state is no news.
struct Acknowledged {
  ClientStatus status = ClientStatus::PENDING;
  std::uint64_t digest = 0;  ///< Of everything in the update but its modifyTime.

  friend bool operator==(const Acknowledged&, const Acknowledged&) = default;
};

/// Whether an allocation is healthy, once that is known.
struct HealthStatus {
  bool healthy = false;
  std::int64_t timestamp = 0;  ///< Unix nanoseconds.

  friend bool operator==(const HealthStatus&, const HealthStatus&) = default;
};

struct TaskReport {
  std::string_view name;
  const TaskState* state = nullptr;
};

/// All that a client says of one allocation.
struct AllocReport {
  std::string_view alloc_id;
  std::string_view node_id;
  ClientStatus status = ClientStatus::PENDING;
  std::string_view description;
  std::vector<TaskReport> tasks;  ///< Sorted by name; empty: the servers keep what they have.
  std::optional<HealthStatus> health;
  /// The servers' copy: canary flag and modify index of its deployment status are kept.
  AllocView assigned;
  /// What its network became; unset: as the servers have it, and empty if they have none.
  std::optional<schema::AllocNetworkStatus::Reader> network{};
};

/// A report as it is sent, and what to remember of it. The digest is the same for equal reports in
/// every process of one version; a later version may compute another, which costs one update.
struct AllocUpdate {
  Object<schema::Allocation> alloc;
  Acknowledged state;
};

/// The network of an allocation of `group` when nothing made one for it: the host's, with the name
/// servers that the group's first network asks for.
Object<schema::AllocNetworkStatus> host_network_status(schema::TaskGroup::Reader group);

AllocUpdate make_update(const AllocReport& report, std::int64_t unix_now);

/// The report of an allocation that the client could not even begin to run: `failed`.
AllocUpdate make_rejection(AllocView assigned,
                           schema::Job::Reader job,
                           std::string_view reason,
                           std::int64_t unix_now);

/// Between a task's state and its schema form.
void write_task_state(const TaskState& from, schema::TaskState::Builder to);
TaskState read_task_state(schema::TaskState::Reader from);

/// The group of `job` named `name`, if it has one.
std::optional<schema::TaskGroup::Reader> find_group(schema::Job::Reader job, std::string_view name);

/// The task `name` of the allocation's group, if the job still has it.
std::optional<schema::Task::Reader> find_task(AllocView alloc,
                                              schema::Job::Reader job,
                                              std::string_view name);

}  // namespace nomad::workload
