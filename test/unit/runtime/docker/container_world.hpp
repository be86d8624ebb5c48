// A world for ContainerMachine: an engine that is slow, dies, forgets and answers twice, an agent
// that dies, and whoever starts, stops and destroys the runs of one task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nomad::test {

/// Runs the world of a seed to its end, after which nothing of the task may be left. What was not
/// as it must be.
std::optional<std::string> run_container_world(std::uint64_t seed);

}  // namespace nomad::test
