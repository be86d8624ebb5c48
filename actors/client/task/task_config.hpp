// From the job to what a driver is asked to start: the task's environment and its interpolated
// configuration. No actor; values in, values out.
#pragma once

#include <optional>
#include <string_view>

#include "actors/client/driver.hpp"
#include "runtime/workload/task_machine.hpp"
#include "runtime/workload/task_record.hpp"

namespace nomad::client {

/// What tasks and their environments see of the node; never changed.
struct TaskNode {
  Object<schema::Node> record;                           ///< As it is registered.
  std::shared_ptr<const workload::Variables> variables;  ///< What `${…}` may name of it.
  workload::Variables host_env;                          ///< The agent's environment, filtered.
  std::string region;
  std::string datacenter;
  std::string cgroup_parent;
  std::string alloc_dir;  ///< Allocations have directories below it.

  std::string alloc_root(std::string_view alloc_id) const {
    return alloc_dir + '/' + std::string{alloc_id};
  }
};

/// What never changes of a task. `may_run`: an earlier agent may have started it.
workload::TaskTraits traits_of(AllocView alloc,
                               schema::Job::Reader job,
                               schema::Task::Reader task,
                               bool may_run);

/// What the allocation and the present version of its job say of a task.
workload::TaskTerms terms_of(AllocView alloc,
                             schema::Job::Reader job,
                             schema::Task::Reader task,
                             Nanoseconds max_kill_timeout);

/// The environment as it is now, from what the hooks have added so far. A `task` without a name:
/// that of the group, for what belongs to no task.
workload::TaskEnv make_env(const TaskNode& node,
                           AllocView alloc,
                           schema::Job::Reader job,
                           schema::Task::Reader task,
                           schema::plugin::Capabilities::Reader driver,
                           const workload::TaskRecord& record);

/// What is to be started. Nothing in it is kept.
struct StartSubject {
  AllocView alloc;
  schema::Job::Reader job;
  schema::Task::Reader task;
  std::string_view network_namespace;  ///< Path; empty: the host's.
};

/// What the driver is asked to start: the run that the record names. `invalid_argument` when the
/// job's `config` block is not what the driver's description lets stand there.
Result<driver::Ask> make_start(const TaskNode& node,
                               const StartSubject& subject,
                               const workload::TaskEnv& env,
                               const workload::TaskRecord& record,
                               schema::plugin::DriverDescription::Reader driver);

/// Names and values of the agent's own environment that tasks see: all but those in `denied`.
workload::Variables host_environment(const std::vector<std::string>& denied);

/// Names kept from tasks unless `env.denylist` says otherwise.
const std::vector<std::string>& default_denied_environment();

}  // namespace nomad::client
