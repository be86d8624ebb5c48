// PluginPeer: the other end of the conversation with a plugin, as its link sees it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "runtime/plugin/frames.hpp"

namespace nomad::plugin {

/// What happens to it. Called on another thread than the link's.
struct ProcessEvents {
  std::function<void(int pid)> started;
  std::function<void(Frame frame, std::size_t bytes)> frame;  ///< Until `handled`, it counts.
  /// Of its standard output or error; `dropped` lines before it were too many. Empty: of these
  /// alone.
  std::function<void(std::string line, std::uint64_t dropped)> line;
  /// It hung up, broke the protocol or could not be started. Once, and the last one.
  std::function<void(Error why)> ended;
};

/// A plugin's process, a thread of the agent, or what a test puts in its place.
class PluginPeer {
public:
  PluginPeer() = default;
  PluginPeer(const PluginPeer&) = delete;
  PluginPeer& operator=(const PluginPeer&) = delete;
  virtual ~PluginPeer() = default;

  /// What `append_frame` has made.
  virtual void send(std::string frame) = 0;

  /// Frames of so many bytes are through.
  virtual void handled(std::size_t bytes) = 0;

  /// Kills it; `ended` follows.
  virtual void kill() = 0;

  /// It has said that it has drivers: what it starts outlives it, and would be bounded as it is, so
  /// it may take as much memory as it likes. Else the bound of its memory holds for good, and what
  /// it has started and left in its process group ends with it. Blocks for some milliseconds where
  /// a process of another user's is bounded by an agent without CAP_SYS_RESOURCE. An error: the
  /// bound is not as it has to be.
  virtual Result<> has_drivers(bool has_some) = 0;

  /// What became of it, once: "exited with status 1"; empty: it runs still, and is killed if
  /// `kill`. Does not wait.
  virtual std::string reap(bool kill) = 0;
};

using MakePeer = std::function<std::unique_ptr<PluginPeer>(ProcessEvents)>;

}  // namespace nomad::plugin
