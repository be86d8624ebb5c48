// StatsReader: the one reader of the kernel's figures, for the machine and for all tasks. Nothing
// is read unless somebody asks, so an idle node with many tasks does nothing.
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
#include "runtime/host/process_stats.hpp"

namespace nomad::client {

namespace stats {

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

}  // namespace stats

using StatsReader = actor::Interface<client_api::HostUsage(stats::ReadHost),
                                     stats::TaskUsages(stats::ReadTasks),
                                     void(stats::ForgetTask)>;

struct StatsOptions {
  std::string alloc_dir;
  std::uint64_t total_compute_mhz = 0;
  unsigned cores = 1;
};

StatsReader spawn_stats_reader(const actor::Owner& owner, const StatsOptions& options);

}  // namespace nomad::client
