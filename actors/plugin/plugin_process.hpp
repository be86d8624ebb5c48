// PluginProcess: the process of one isolated plugin and the sockets to it, on the event loop that
// all plugins of an agent share. No actor: what comes is handed to callbacks on the loop's thread.
//
// Ownership: whoever holds the process has it; its end hangs up and kills what is left. The loop's
// thread starts the process, so that the kernel ends it with that thread, however the agent ends.
//
// Threads: any, but for the callbacks.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/net/stream_socket.hpp"
#include "runtime/plugin/frames.hpp"

namespace nomad::plugin {

/// The loop of all plugins' sockets: one thread, made with the first plugin.
class PluginLoop : public net::SocketLoop {
public:
  PluginLoop();

  /// Before it ends.
  void stop_all();

  std::vector<int> orphans;  ///< Killed, and not reaped yet. On the loop's thread.
};

struct ProcessOptions {
  std::string program;  ///< Absolute path.
  std::vector<std::string> arguments;
  std::string directory;           ///< Where it runs.
  std::uint64_t memory_bytes = 0;  ///< Of its own; 0: no bound.
  /// A program of the kernel's that refuses system calls, for nomadctl-plugin-host; empty: none.
  std::string call_filter{};
};

/// Called on the loop's thread.
struct ProcessEvents {
  std::function<void(int pid)> started;
  std::function<void(Frame frame, std::size_t bytes)> frame;  ///< Until `handled`, it counts.
  /// Of its standard output or error; `dropped` lines before it were too many. Empty: of these
  /// alone.
  std::function<void(std::string line, std::uint64_t dropped)> line;
  /// It hung up, broke the protocol or could not be started. Once, and the last one.
  std::function<void(Error why)> ended;
};

/// The other end of the conversation with a plugin: its process, or what a test puts in its place.
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
  /// it has started and left in its process group ends with it.
  virtual void has_drivers(bool has_some) = 0;

  /// What became of it, once: "exited with status 1"; empty: it runs still, and is killed if
  /// `kill`. Does not wait.
  virtual std::string reap(bool kill) = 0;
};

using MakePeer = std::function<std::unique_ptr<PluginPeer>(ProcessEvents)>;

class PluginProcess final : public PluginPeer {
public:
  /// Frames that were handed over and not handled have at most so many bytes, and one read.
  static constexpr std::size_t input_window = std::size_t{1} << 20;
  /// So much may wait for a plugin to read it.
  static constexpr std::size_t most_output = std::size_t{32} << 20;

  PluginProcess(std::shared_ptr<PluginLoop> loop, ProcessOptions options, ProcessEvents events);
  ~PluginProcess() override;

  void send(std::string frame) override;
  void handled(std::size_t bytes) override;
  void kill() override;
  void has_drivers(bool has_some) override;
  std::string reap(bool kill) override;

  class Core;

private:
  std::shared_ptr<Core> core_;
};

}  // namespace nomad::plugin
