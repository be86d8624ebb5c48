// ExecPump: carries the bytes of all sessions of commands (`alloc exec`) between their descriptors
// and whoever asked for them: one thread, one epoll, only as fast as the slower side.
//
// A session's command belongs to the task's executor, which kills it when the session's socket
// closes. So a session ends with its last reference, with the pump, and with this process.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/exec_session.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

/// The agent's ends of a command.
struct ExecEnds {
  UniqueFd socket{};    ///< Brings `exited` (schema/executor.capnp); its closing kills the command.
  UniqueFd terminal{};  ///< The master; or the three below.
  UniqueFd input{};
  UniqueFd output{};
  UniqueFd errors{};
};

/// From what a driver or an executor hands over: the socket, and the terminal or the three streams.
/// `io` for another number of them.
Result<ExecEnds> ends_of(std::vector<UniqueFd> descriptors);

class ExecPump {
public:
  /// Starts the thread.
  static Result<std::unique_ptr<ExecPump>> open();

  /// Ends the thread, and with it every session: `exited` is told with an error. Not from a
  /// callback of a session.
  ~ExecPump();

  ExecPump(const ExecPump&) = delete;
  ExecPump& operator=(const ExecPump&) = delete;

  /// Any thread. The session may outlive the pump; it has ended then.
  Result<std::shared_ptr<ExecSession>> adopt(ExecEnds ends);

private:
  class Core;
  class Session;
  class Handle;

  explicit ExecPump(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
  std::thread thread_;
};

/// A pump for whoever may never need one: opened by its first session. Any thread.
class ExecPumpOnDemand {
public:
  /// As the pump's.
  Result<std::shared_ptr<ExecSession>> adopt(ExecEnds ends);

private:
  std::mutex mutex_;
  std::unique_ptr<ExecPump> pump_;
};

}  // namespace nomad::host
