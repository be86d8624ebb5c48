// A world for HealthMachine: an engine that goes, comes, is slow and breaks streams off, and those
// that ask how it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nomad::test {

/// Runs the world of a seed to its end, after which the engine's going and coming must be told.
/// What was not as it must be.
std::optional<std::string> run_health_world(std::uint64_t seed);

}  // namespace nomad::test
