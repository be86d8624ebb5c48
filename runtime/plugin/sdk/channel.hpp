// Channel: how a plugin on a thread of an agent hears and speaks, where a process has a socket. Of
// plain functions, so that agent and SDK may come of two builds. Frames are those of the socket
// (plugin-protocol.md) without their length. Called on the plugin's thread alone.
#pragma once

#include <cstddef>

namespace nomad::plugin {

struct Channel {
  void* agent;  ///< What all functions get.
  int wake;     ///< Can be read when there is something for who waits; reading it is `woke`'s.

  /// The next frame of the agent's, valid until the next call; null: there is none now.
  const void* (*next)(void* agent, std::size_t* bytes);

  /// Tells the agent. False: it takes no more now, and wakes who waits when it does.
  bool (*tell)(void* agent, const void* frame, std::size_t bytes);

  /// Whether `next` would have something, or the agent takes more again, or has hung up.
  bool (*has_news)(void* agent);

  /// Before a wait for `wake`; false: there is something already, and none is to be waited for.
  bool (*may_wait)(void* agent);
  void (*woke)(void* agent);

  /// The agent has hung up.
  bool (*is_over)(void* agent);
};

}  // namespace nomad::plugin
