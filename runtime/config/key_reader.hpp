// Reads the tree of a configuration file into an AgentConfig, by the table of keys.
//
// As in Nomad's HCL, a number or boolean may stand where text is wanted and the other way round,
// and a list of blocks is one block of all that they say. As in Nomad, lists of several files add
// up, and a switch that is off unless it is turned on stays on once it was: a later file, or one
// beside -dev, does not turn it off.
#pragma once

#include <string>
#include <vector>

#include "runtime/config/agent_config.hpp"
#include "runtime/config/config_file.hpp"

namespace nomad::config {

/// What is wrong with a file, and what of it has no effect; each with file, line if it is known,
/// and key.
struct Findings {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

Findings read_keys(const std::string& file, const ConfigTree& from, AgentConfig& into);

}  // namespace nomad::config
