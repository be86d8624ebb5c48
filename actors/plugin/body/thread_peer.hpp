// ThreadPeer: a plugin on a thread of the agent, which it shares memory with: frames go by a
// MemoryChannel. For libraries that are trusted with the agent: what they break is the agent's.
//
// Ownership: whoever holds the peer has the thread's attention; its end hangs up. A thread that
// blocks can't be ended: it stays, with what it refers to, until the agent ends.
//
// Threads: as PluginPeer's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/plugin/body/plugin_peer.hpp"
#include "runtime/plugin/sdk/channel.hpp"

namespace nomad::plugin {

class ThreadPeer final : public PluginPeer {
public:
  /// What the thread does until the agent hangs up; it says why it has ended.
  using Serve = std::function<std::string(const Channel& agent)>;

  /// `plugin` is the name that its thread has.
  ThreadPeer(const std::string& plugin, Serve serve, ProcessEvents events);
  ~ThreadPeer() override;

  void send(std::string frame) override;
  void handled(std::size_t bytes) override;
  void kill() override;

  Result<> has_drivers(bool) override { return {}; }

  std::string reap(bool kill) override;

private:
  class Core;

  std::shared_ptr<Core> core_;
};

struct LibraryOptions {
  std::string library;  ///< Absolute path; its mark has been looked at.
  /// Where libnomadctl-plugin may be; the first that is there.
  std::vector<std::string> sdk_locations;
};

/// Loads a plugin's library, and what it is made with, and serves it. Neither is ever unloaded.
ThreadPeer::Serve serve_library(LibraryOptions options);

}  // namespace nomad::plugin
