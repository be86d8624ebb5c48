// What the transcripts of all machines over a container engine have in common: what the engine
// answers, and what is shown of questions and timers.
#pragma once

#include <optional>
#include <sstream>
#include <string>

#include "runtime/docker/engine_machine.hpp"

namespace nomad::test {

/// "ok", "created", "container exited, run other, exit 3", "away", "refused 404", "says {…}": what
/// the engine answers. Nothing for other words.
std::optional<docker::EngineOutcome> outcome_of(const std::string& what, std::istringstream& words);

std::string show(const docker::engine_action::Ask& action);
std::string show(const docker::engine_action::Withdraw& action);
std::string show(const docker::engine_action::Wait& action);
std::string show(const docker::engine_action::LogWarning& action);

/// "3: what": an action that waits for an answer.
std::string awaited(docker::engine_action::Round round, const std::string& what);

}  // namespace nomad::test
