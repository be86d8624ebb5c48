// Serves a plugin over a connected socket until the agent hangs up or ends it. Blocks.
#pragma once

#include "runtime/plugin/sdk/plugin.hpp"

namespace nomad::plugin {

/// `socket` stays the caller's. The error says why it ended, if the agent has not ended it.
Result<> serve(const Plugin& plugin, int socket);

}  // namespace nomad::plugin
