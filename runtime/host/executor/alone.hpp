// How long an executor stays that nobody is connected to: its agent may be down for a while, or
// gone for good with all that it knew. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace nomad::host::executor {

enum class Phase : std::uint8_t { idle, running, ending, ended, finished };

/// Of one that has started nothing.
inline constexpr std::chrono::seconds idle_patience{10};

/// Of one whose task has ended. The status is in its file, where an agent that comes later finds it
/// as it does after a power failure.
inline constexpr std::chrono::hours ended_patience{1};

/// When one ends by itself that is alone since `since`: never while there is a task.
inline std::optional<std::chrono::steady_clock::time_point> leaves_at(
    Phase phase, std::chrono::steady_clock::time_point since) {
  switch (phase) {
    case Phase::idle:
      return since + idle_patience;
    case Phase::ended:
      return since + ended_patience;
    case Phase::running:
    case Phase::ending:
    case Phase::finished:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace nomad::host::executor
