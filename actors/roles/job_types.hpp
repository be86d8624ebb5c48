// JobTypes: which types of jobs the plugins of this server schedule, beside the built-in ones, and
// who is asked. Validation and the scheduler workers look here.
//
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "actors/roles/decider.hpp"
#include "actors/roles/plugin_names.hpp"

namespace nomad::server {

struct PluginJobType {
  std::string plugin;
  Decider decider{};
  std::vector<std::string> reads{};  ///< What it wants to know of nodes.
};

class JobTypes : public PluginNames<PluginJobType> {};

}  // namespace nomad::server
