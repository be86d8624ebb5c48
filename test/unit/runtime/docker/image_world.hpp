// A world for ImageMachine: users that want images, wait, change their minds and need them no more,
// an engine that fails, others that remove images, and an agent that dies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nomad::test {

/// Runs the world of a seed to its end, after which nothing is left that somebody needed. What was
/// not as it must be.
std::optional<std::string> run_image_world(std::uint64_t seed);

}  // namespace nomad::test
