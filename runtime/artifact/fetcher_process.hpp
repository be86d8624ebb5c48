// FetcherProcess: one running nomadctl-artifact, as its parent sees it.
//
// It has no environment but what is given, its order as a file without a name, and a socket for its
// reports. Where the agent is root it is the first process of a PID namespace of its own, so that
// nothing that it starts outlives it; elsewhere its process group is killed. It dies with the
// thread that started it.
//
// May depend on: runtime/base, host/process, artifact/protocol. One thread.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime/artifact/protocol/protocol.hpp"
#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::artifact {

struct FetcherStart {
  std::string program;                   ///< Path of nomadctl-artifact.
  std::string order;                     ///< The bytes of its FetchOrder.
  std::vector<std::string> environment;  ///< "NAME=value".
  int directory = -1;                    ///< To work in; stays the caller's.
};

class FetcherProcess {
public:
  /// `not_found` without such a program, `io`.
  static Result<FetcherProcess> start(const FetcherStart& from);

  FetcherProcess(FetcherProcess&&) = default;
  FetcherProcess& operator=(FetcherProcess&&) = default;
  ~FetcherProcess();  ///< Kills it, and waits for its end.

  /// Readable when it has ended.
  int process() const { return process_.get(); }

  /// Readable when it reports.
  int socket() const { return socket_.get(); }

  /// More than the socket holds: who reports faster than it is read has gone wrong.
  static constexpr std::size_t most_reports = 1024;

  /// What it has reported; empty when there is nothing now, or nothing any more. An error,
  /// `corrupt`, for what is no report, and for `most_reports`: it is not to be trusted any further.
  Result<std::vector<FetchReport>> reports() const;

  void kill() const;

  /// How it ended, "exited with 1" or "was killed by signal 9". Waits for it.
  std::string wait();

private:
  FetcherProcess() = default;

  pid_t pid_ = 0;
  host::UniqueFd process_;
  host::UniqueFd socket_;
};

}  // namespace nomad::artifact
