// TaskCounters: what a task of an allocation went through, as metrics that are there as long as
// the allocation is on this node.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/object/alloc_view.hpp"
#include "runtime/telemetry/registry.hpp"
#include "runtime/workload/task_state.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::client {

/// Nomad's labels of all metrics of a task.
telemetry::Labels task_labels(AllocView alloc, schema::Job::Reader job, std::string_view task);

class TaskCounters {
public:
  TaskCounters(telemetry::Registry& registry, const telemetry::Labels& labels);

  void count(const workload::TaskSteps& steps);

private:
  std::shared_ptr<telemetry::Counter> running_;
  std::shared_ptr<telemetry::Counter> restart_;
  std::shared_ptr<telemetry::Counter> failed_;
  std::shared_ptr<telemetry::Counter> complete_;
  std::shared_ptr<telemetry::Counter> oom_killed_;
};

}  // namespace nomad::client
