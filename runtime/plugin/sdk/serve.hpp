// Serves a plugin until the agent hangs up or ends it: over a connected socket, in a process of its
// own, or by a Channel, on a thread of the agent. Blocks.
#pragma once

#include <cstddef>

#include "runtime/plugin/sdk/channel.hpp"
#include "runtime/plugin/sdk/plugin.hpp"

namespace nomad::plugin {

/// `socket` stays the caller's. The error says why it ended, if the agent has not ended it.
Result<> serve(const Plugin& plugin, int socket);

/// The same on a thread of the agent, whose channel outlives the call.
Result<> serve(const Plugin& plugin, const Channel& agent);

inline constexpr int exit_not_loaded = 2;  ///< Another try would end the same way.
inline constexpr int exit_failed = 3;

}  // namespace nomad::plugin

/// Has a plugin described by `describe`, a `void(nomad::plugin::Plugin&)`, and serves it. 0, or one
/// of the codes above with the reason in `why`. For those who load this library as they run.
extern "C" __attribute__((visibility("default"))) int nomadctl_plugin_serve(void* describe,
                                                                            int socket,
                                                                            char* why,
                                                                            std::size_t size);

/// The same on a thread of the agent.
extern "C" __attribute__((visibility("default"))) int nomadctl_plugin_serve_channel(
    void* describe, const nomad::plugin::Channel* agent, char* why, std::size_t size);
