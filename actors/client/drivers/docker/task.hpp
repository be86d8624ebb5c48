// What DockerTasks knows of one task. Included by its sources alone.
#pragma once

#include "actors/client/drivers/docker/tasks.hpp"

namespace nomad::client {

/// Of handles, which hold the container's id.
inline constexpr std::uint32_t docker_handle_version = 1;

struct DockerTasks::Task {
  std::string run_id;
  std::uint64_t serial = 0;  ///< Tells this run from others of the same task.
  Stage stage = Stage::starting;
  actor::Promise<Answered> starting;  ///< Whoever waits for it to run.
  actor::Promise<Answered> recovering;

  // Until it runs:
  std::optional<docker::ContainerSpec> spec;
  std::string network_namespace;
  std::string hostname;

  std::string container;  ///< Its id; empty until there is one.
  bool is_terminal = false;
  bool joins = false;  ///< The network of its group.
  workload::TaskHandle handle;
  workload::DriverNetwork network;
  docker::Engine::CallId wait = 0;

  std::shared_ptr<docker::LogKeeper> keeper;  ///< Null: nobody keeps its logs.
  docker::Engine::CallId logs = 0;
  bool read_last_logs = false;  ///< What is asked for is all that is left of them.
  int log_failures = 0;

  bool stopping = false;
  std::string stop_signal;
  Nanoseconds stop_grace{0};
  std::optional<workload::ExitResult> result;
  bool told = false;

  docker::CpuCounters counters;  ///< Of the last reading.
  Nanoseconds read_at{0};
  bool is_read = false;  ///< For the feed.
};

}  // namespace nomad::client
