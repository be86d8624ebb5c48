// A world for InfraMachine: tasks of a group that join its network and leave, an engine that fails
// and loses containers, processes that take their time, and an agent that dies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nomad::test {

/// Runs the world of a seed to its end, after which there is no container of the network. What was
/// not as it must be.
std::optional<std::string> run_infra_world(std::uint64_t seed);

}  // namespace nomad::test
