// LogKeepers: for each run a process (`nomadctl-executor logs`) that reads what the task writes, as
// Nomad's drivers have it: two FIFOs, whose paths they get. It outlives this process.
//
// Threads: the plugin's.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/plugin/bridge/task_objects.hpp"
#include "runtime/plugin/bridge/wire.hpp"
#include "runtime/plugin/sdk/host.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::plugin::bridge {

/// A name of a file for anything, reversible: what is neither letter, digit, '-' nor '_' is "%2e".
std::string file_name(std::string_view text);

class LogKeepers {
public:
  /// `directory` is made; FIFOs are in it.
  LogKeepers(Host& host, std::string executor, std::string directory);

  struct Kept {
    LogPaths paths{};
    drivers::LogKeeper process{};  ///< Of none, where logs are disabled.
    /// Both ends of both, so that no writer waits for the process. To be let go of when the task
    /// runs.
    std::vector<host::UniqueFd> held{};
  };

  /// `run` names the run, and the files.
  Result<Kept> start(schema::plugin::TaskConfig::Reader config, const std::string& run);

  /// It reads what is left, and ends. Whatever has its number now but is another process is let be.
  void finish(const drivers::LogKeeper& process);

private:
  Result<pid_t> spawn(std::vector<std::string> words);
  void reap();

  Host& host_;
  std::string executor_;
  std::string directory_;
  std::vector<pid_t> finishing_;  ///< Told to end; those that are children are reaped.
};

}  // namespace nomad::plugin::bridge
