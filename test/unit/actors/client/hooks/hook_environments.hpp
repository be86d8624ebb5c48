// Environments that hooks are asked with in tests.
#pragma once

#include <memory>
#include <utility>

#include "actors/client/hooks/hook.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::test {

/// Of a task that has these variables and no others.
inline client::EnvironmentsRef environments_of(workload::Variables variables) {
  Draft<schema::Allocation> alloc;
  Draft<schema::Job> job;
  const workload::TaskEnvInput input{.alloc = alloc.reader(),
                                     .job = job.reader(),
                                     .task = {},
                                     .region = {},
                                     .datacenter = {},
                                     .cgroup_parent = {},
                                     .node = std::make_shared<const workload::Variables>(),
                                     .task_paths = {},
                                     .client_paths = {},
                                     .client_task_dir = {},
                                     .host = std::move(variables),
                                     .hooks = {},
                                     .templates = {},
                                     .network = {}};
  return std::make_shared<const client::Environments>(
      client::Environments{workload::TaskEnv::build(input)});
}

}  // namespace nomad::test
