// SampleJob: the job that tests and benches register when any will do.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/object/draft.hpp"
#include "schema/job.capnp.h"

namespace nomad::test {

struct SampleJob {
  std::string id = "web";
  std::int64_t count = 1;
  std::string group = "api";
  std::string task = "server";
  std::int64_t cpu = 500;        ///< MHz
  std::int64_t memory_mb = 100;  ///< MiB
  std::int64_t disk_mb = 10;     ///< MiB
};

/// Makes `job` a service of every datacenter with one group of one mock task. Returns the group.
inline schema::TaskGroup::Builder fill_job(schema::Job::Builder job, const SampleJob& sample) {
  job.setId(text(sample.id));
  job.setName(text(sample.id));
  job.setNamespace("default");
  job.setType("service");
  job.setPriority(50);
  job.setNodePool("default");
  job.initDatacenters(1).set(0, "*");
  auto group = job.initTaskGroups(1)[0];
  group.setName(text(sample.group));
  group.setCount(sample.count);
  group.initEphemeralDisk().setSizeMb(sample.disk_mb);
  auto task = group.initTasks(1)[0];
  task.setName(text(sample.task));
  task.setDriver("mock_driver");
  auto resources = task.initResources();
  resources.setCpu(sample.cpu);
  resources.setMemoryMb(sample.memory_mb);
  return group;
}

}  // namespace nomad::test
