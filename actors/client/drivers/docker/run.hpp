// What DockerTasks has of one run. Included by its sources alone.
#pragma once

#include "actors/client/drivers/docker/tasks.hpp"

namespace nomad::client {

struct DockerTasks::Run {
  driver::TaskId id;
  Number number = 0;
  docker::ContainerMachine machine;
  bool is_over = false;

  actor::Promise<Answered> destroying{};

  // Until it runs:
  docker::ContainerSpec spec{};
  std::string network_namespace{};
  std::string hostname{};

  struct Call {
    docker::Engine* engine;
    docker::Engine::CallId id;
  };

  std::map<Round, Call> calls{};                      ///< Those that are not answered.
  std::shared_ptr<docker::LogCollector> collector{};  ///< Null: nobody keeps its logs.

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
