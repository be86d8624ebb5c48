// UsageReader: the one reader of the kernel's figures, for the machine and for all tasks. Nothing
// is read unless somebody asks; what is kept of the past does so each ten seconds while tasks run.
//
// Owns:   the previous samples that percentages are counted from; a thread of its own.
// Takes:  ReadHost, ReadTasks, ForgetTask.
// Parent: client, restart.
// Ends:   by the parent's exit message.
#pragma once

#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/roles/client_api.hpp"
#include "runtime/host/process_usage_reader.hpp"

namespace nomad::client {

namespace usage {

struct ReadHost {
  using is_message = void;
};

struct TaskUsages {
  using is_message = void;
  std::vector<client_api::TaskUsage> usages;
};

/// Usage of each, in order, half a second old at most.
struct ReadTasks {
  using is_message = void;
  std::vector<host::TaskProcesses> tasks;
};

struct ForgetTask {
  using is_message = void;
  std::string key;
};

}  // namespace usage

using UsageReader = actor::Interface<client_api::HostUsage(usage::ReadHost),
                                     usage::TaskUsages(usage::ReadTasks),
                                     void(usage::ForgetTask)>;

struct UsageReaderOptions {
  std::string alloc_dir;
  std::uint64_t total_compute_mhz = 0;
  unsigned cores = 1;
};

UsageReader spawn_usage_reader(const actor::Owner& owner, const UsageReaderOptions& options);

}  // namespace nomad::client
