// LogKeepers: for each run a process (`nomadctl-executor logs`) that reads what the task writes, as
// Nomad's drivers have it: two FIFOs, whose paths they get. It outlives this process.
//
// Threads: the plugin's.
#pragma once

#include <functional>
#include <memory>
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

  using Then = std::function<void(Result<Kept>)>;

  /// `run` names the run, and the files. `then` is called once, in this turn or a later one: when
  /// the process reads the FIFOs, or with why it does not (the error names the file; nothing is
  /// left). Without one that reads, the driver's open of a FIFO would wait for ever.
  void start(schema::plugin::TaskConfig::Reader config, const std::string& run, Then then);

  /// It reads what is left, and ends. Whatever has its number now but is another process is let be.
  void finish(const drivers::LogKeeper& process);

private:
  /// One that has not said yet that it reads.
  struct Beginning {
    Kept kept{};
    host::UniqueFd says{};  ///< Its standard error, with one line.
    std::string said{};
    Then then{};
    std::uint64_t timer = 0;
  };

  Result<std::unique_ptr<Beginning>> begin(schema::plugin::TaskConfig::Reader config,
                                           const std::string& run);
  Result<host::UniqueFd> spawn(std::vector<std::string> words, pid_t& pid);
  void hear(std::shared_ptr<Beginning> one);
  void settle(std::shared_ptr<Beginning> one, std::string problem);
  void reap();

  Host& host_;
  std::string executor_;
  std::string directory_;
  std::vector<pid_t> finishing_;  ///< Told to end; those that are children are reaped.
};

}  // namespace nomad::plugin::bridge
