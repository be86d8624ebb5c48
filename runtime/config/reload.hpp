// What of a configuration that was read again takes effect while the agent runs, and what does not
// before it is started anew. (Nomad says nothing of the latter.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/agent_config.hpp"

namespace nomad::config {

/// Whether a change of the key "client.meta" takes effect at once. Labels stand for themselves:
/// "client.host_volume.data.path".
bool is_reloadable(std::string_view path);

struct Reload {
  AgentConfig config;  ///< What runs, with what takes effect of the other.
  std::vector<std::string>
      applied;  ///< Changed keys, as in the files; of blocks with labels these.
  std::vector<std::string> pending;  ///< Those that need a restart.
};

/// `running` as the agent has it, and `wanted` as its files and flags are now.
Reload reload(const AgentConfig& running, const AgentConfig& wanted);

}  // namespace nomad::config
