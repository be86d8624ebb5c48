// ExecBridge: commands beside containers (`alloc exec`), between the engine, which gives out one
// connection for each, and the descriptors by which the agent knows commands
// (DriverRequest.execTask): a socket that tells the end and whose closing kills the command, and
// its terminal or its three streams.
//
// A thread for each command, which waits for both sides and takes no more than the other side has
// taken. It ends with the command, when the socket is closed, and with the bridge.
//
// May depend on: runtime/base, runtime/net, runtime/host.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
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
  ~ExecBridge();  ///< Ends what runs.

  /// `begun` is called once, on a thread of the bridge's, when the command runs, or with the reason
  /// why it does not. One thread at a time.
  void begin(ExecRequest request, Begun begun);

private:
  struct Command;

  void remove_ended();

  std::shared_ptr<host::UniqueFd> stop_;  ///< Readable when all are to end.
  std::list<Command> commands_;
};

}  // namespace nomad::docker
