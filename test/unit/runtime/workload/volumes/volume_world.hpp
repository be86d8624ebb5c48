// A node with CSI volumes in random worlds: plugins that fail with and without having done what
// they were asked, and go and come; servers that refuse; agents that die at any moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nomad::test {

/// What of the rules of runtime/workload/volumes/volume_machine.hpp was broken, if one was.
std::optional<std::string> run_volume_world(std::uint64_t seed);

}  // namespace nomad::test
