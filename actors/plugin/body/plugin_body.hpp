// PluginBody: the process that a plugin runs in, at the other end of its sockets.
//
// Threads: any, but for `start`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::plugin {

class PluginBody {
public:
  PluginBody() = default;
  PluginBody(const PluginBody&) = delete;
  PluginBody& operator=(const PluginBody&) = delete;
  virtual ~PluginBody() = default;

  /// With these ends, which stay the caller's. Once, on the loop's thread: the kernel ends a
  /// process with that thread, however the agent ends.
  virtual Result<> start(int socket, int output) = 0;

  /// Of its process; 0: it has none of its own.
  virtual int pid() = 0;

  virtual void kill() = 0;

  /// It runs no more, and was not reaped.
  virtual bool has_ended() = 0;

  /// As PluginPeer's.
  virtual Result<> has_drivers(bool has_some) = 0;
  virtual std::string reap(bool kill) = 0;
};

struct ProcessOptions {
  std::string program;  ///< Absolute path.
  std::vector<std::string> arguments;
  std::string directory;           ///< Where it runs.
  std::uint64_t memory_bytes = 0;  ///< Of its own; 0: no bound.
  std::string user{};              ///< Whose it is, as nomadctl-plugin-host reads it; empty: ours.
  /// A program of the kernel's that refuses system calls, for nomadctl-plugin-host; empty: none.
  std::string call_filter{};
};

std::unique_ptr<PluginBody> process_body(ProcessOptions options);

}  // namespace nomad::plugin
