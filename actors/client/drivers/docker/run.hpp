// What DockerTasks has of one run. Included by its sources alone.
#pragma once

#include "actors/client/drivers/docker/performer.hpp"
#include "actors/client/drivers/docker/tasks.hpp"
#include "runtime/workload/runs/log_machine.hpp"

namespace nomad::client {

struct DockerTasks::Run : EngineLife<docker::ContainerMachine> {
  driver::TaskId id{};
  Number number = 0;
  bool is_over = false;

  actor::Promise<Answered> destroying{};

  // Until it runs:
  docker::ContainerSpec spec{};
  std::string binds_location{};  ///< Of the spec; held until it is over.
  std::string network_namespace{};
  std::string hostname{};

  workload::LogMachine logs{};
  std::shared_ptr<docker::LogCollector> collector{};   ///< Null: nobody keeps its logs.
  std::optional<docker::Engine::CallId> log_stream{};  ///< One that has not ended.
  bool is_terminal = false;                            ///< What the logs are of.
  Round logs_end = 0;                                  ///< When they are complete.

  docker::CpuCounters counters{};  ///< Of the last reading.
  Nanoseconds read_at{0};

  /// Who keeps the images from being removed.
  std::string user() const { return std::to_string(number); }
};

/// A task as it is to be started. `invalid_argument` in Nomad's words.
Result<docker::ContainerSpec> container_spec(schema::plugin::TaskConfig::Reader config,
                                             const docker::AgentSettings& agent,
                                             const std::string& label);

/// The body of the container, and the hosts that the task adds. Reads and writes files.
Result<std::string> prepare_container(const docker::ContainerSpec& spec,
                                      const docker::AgentSettings& agent);

/// Nomad's words for what the engine measures.
client_api::TaskUsage docker_usage(const docker::Usage& from,
                                   const docker::CpuCounters& before,
                                   std::uint64_t total_mhz,
                                   std::int64_t unix_now);

}  // namespace nomad::client
