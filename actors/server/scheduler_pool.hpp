// SchedulerPool: the scheduler workers of a server, whose number and types operators change while
// it runs. A worker that is not wanted any more finishes what it works on and then waits until it
// is wanted again.
//
// Owns:   nothing; its workers are the server's. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/server/scheduler_worker.hpp"

namespace nomad::server {

struct SchedulerSettings {
  unsigned workers = 1;
  /// What they work for, "_core" among it, which stands for the leader's own housekeeping.
  std::vector<std::string> types{"service", "batch", "system", "sysbatch", "_core"};

  friend bool operator==(const SchedulerSettings&, const SchedulerSettings&) = default;
};

/// At most 128 workers of types that there are. Like Nomad, "_core" has to be one of them.
Result<> check_settings(const SchedulerSettings& settings);

/// What workers of these settings ask the broker for. Jobs of plugins' types are worked for where
/// all of Nomad's own are.
std::vector<std::string> asked_types(const SchedulerSettings& settings);

class SchedulerPool {
public:
  struct Worker {
    std::string id;  ///< A UUID.
    std::shared_ptr<WorkerTypes> types;
    SchedulerWorker actor;
  };

  /// Spawns one more; called one at a time, from whatever thread changes the settings.
  using Spawn = std::function<SchedulerWorker(const Worker& wanted)>;

  /// The settings have been checked.
  SchedulerPool(Spawn spawn, SchedulerSettings settings);

  SchedulerSettings settings() const;

  /// From now on workers go by these, which have been checked.
  void change(SchedulerSettings settings);

  /// Those that are wanted.
  std::vector<Worker> workers() const;

private:
  void obey();

  const Spawn spawn_;
  mutable std::mutex guard_;
  SchedulerSettings settings_;
  std::vector<Worker> workers_{};  ///< Wanted ones first.
};

}  // namespace nomad::server
