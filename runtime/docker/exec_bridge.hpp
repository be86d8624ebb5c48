// ExecBridge: commands beside containers (`alloc exec`), between the engine, which gives out one
// connection for each, and the descriptors by which the agent knows commands
// (DriverRequest.execTask): a socket that tells the end and whose closing kills the command, and
// its terminal or its three streams.
//
// One thread for all commands, which begins with the first: it carries bytes from one side to the
// other, and takes no more of either than the other side has taken. A command ends when the socket
// is closed, and with the bridge.
//
// May depend on: runtime/base, runtime/net, runtime/host.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::docker {

struct ExecRequest {
  std::string socket;  ///< Path of the engine's.
  std::string api;
  std::string container;  ///< Its id.
  std::vector<std::string> command;
  bool is_terminal = false;
};

class ExecBridge {
public:
  using Begun = std::function<void(Result<std::vector<host::UniqueFd>>)>;

  static constexpr std::size_t most_commands = 256;

  ExecBridge();
  ExecBridge(const ExecBridge&) = delete;
  ~ExecBridge();  ///< Ends what runs; waits for the engine to tell what that is.

  /// `begun` is called once, on the bridge's thread, when the command runs, or with the reason why
  /// it does not; not any more once the bridge ends.
  void begin(ExecRequest request, Begun begun);

private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace nomad::docker
