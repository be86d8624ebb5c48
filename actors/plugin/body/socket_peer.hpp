// SocketPeer: the sockets to a plugin's body, on the event loop that all plugins of an agent share.
// No actor: what comes is handed to callbacks on the loop's thread.
//
// Ownership: whoever holds the peer has the body; its end hangs up and kills what is left.
//
// Threads: any, but for the callbacks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "actors/plugin/body/plugin_body.hpp"
#include "actors/plugin/body/plugin_peer.hpp"
#include "runtime/net/stream_socket.hpp"

namespace nomad::plugin {

/// The loop of all plugins' sockets: one thread, made with the first plugin.
class PluginLoop : public net::SocketLoop {
public:
  PluginLoop();

  /// Before it ends.
  void stop_all();

  /// Killed, and not reaped yet. On the loop's thread.
  std::vector<std::shared_ptr<PluginBody>> orphans;
};

class SocketPeer final : public PluginPeer {
public:
  /// Frames that were handed over and not handled have at most so many bytes, and one read.
  static constexpr std::size_t input_window = std::size_t{1} << 20;
  /// So much may wait for a plugin to read it.
  static constexpr std::size_t most_output = std::size_t{32} << 20;

  SocketPeer(std::shared_ptr<PluginLoop> loop,
             std::shared_ptr<PluginBody> body,
             ProcessEvents events);
  ~SocketPeer() override;

  void send(std::string frame) override;
  void handled(std::size_t bytes) override;
  void kill() override;
  Result<> has_drivers(bool has_some) override;
  std::string reap(bool kill) override;

  class Core;

private:
  std::shared_ptr<Core> core_;
};

}  // namespace nomad::plugin
