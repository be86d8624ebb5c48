// LogCollectors: for each run a process (`nomadctl-executor logs`) that reads what the task writes,
// as Nomad's drivers have it: two FIFOs, whose paths they get. It outlives this process. One that
// ends before it is told to is followed by another, later each time; this process has the reading
// ends of the FIFOs as long as the run is there, so that what is written meanwhile stays in them,
// and its writers wait when they are full. Lost is what the dead one had read and not written yet;
// nothing is doubled.
//
// Descriptors: three for each run.
//
// Threads: the plugin's. It lives as long as what calls it back.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/plugin/bridge/task_objects.hpp"
#include "runtime/plugin/bridge/wire.hpp"
#include "runtime/plugin/sdk/agent.hpp"
#include "runtime/workload/runs/log_machine.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::plugin::bridge {

/// A name of a file for anything, reversible: what is neither letter, digit, '-' nor '_' is "%2e".
std::string file_name(std::string_view text);

class LogCollectors {
public:
  /// `directory` is made; FIFOs are in it.
  LogCollectors(Agent& agent, std::string executor, std::string directory);

  struct Kept {
    LogPaths paths{};
    drivers::LogCollector process{};  ///< Of none, where logs are disabled.
  };

  using Then = std::function<void(Result<Kept>)>;
  using Renewed = std::function<void(const drivers::LogCollector&)>;

  /// `run` names the run, and the files. `then` is called once, in this turn or a later one: when
  /// the process reads the FIFOs, or with why it does not (the error names the file; nothing is
  /// left). Without one that reads, the task would wait for ever when the FIFOs are full.
  void start(schema::plugin::TaskConfig::Reader config, const std::string& run, Then then);

  /// Of a run that goes on, of an earlier process's, too: `renewed` is called with each process
  /// that follows, whose record is to be kept then. Records of older agents' say too little for
  /// that; their processes are let be.
  void watch(const drivers::LogCollector& process, Renewed renewed);

  /// It reads what is left, and ends. If it has ended, another one does. Whatever has its number
  /// now but is another process is let be. `complete` is called once, in this turn or a later one:
  /// when all is in the files, or nothing more can come, or that has lasted ten seconds.
  void finish(const drivers::LogCollector& process, std::function<void()> complete = {});

private:
  struct Keeping {
    drivers::LogCollector process{};
    workload::LogMachine machine{};
    std::vector<host::UniqueFd> held{};  ///< The reading ends of the FIFOs.
    host::UniqueFd end{};                ///< A pidfd, which is watched.
    Renewed renewed{};
    std::vector<std::function<void()>> complete{};  ///< Who waits for the machine's `Complete`.
    bool is_finishing = false;  ///< Whichever reads is to read what is left, and end.
  };

  /// One that has not said yet that it reads.
  struct Beginning {
    drivers::LogCollector process{};
    host::UniqueFd says{};  ///< Its standard error, with one line.
    std::string said{};
    std::function<void(const std::string& problem)> then{};
    std::uint64_t timer = 0;
  };

  using KeepingPtr = std::shared_ptr<Keeping>;
  using Begun = std::function<void(Result<drivers::LogCollector>)>;

  void begin(drivers::LogCollector wanted, Begun then);
  Result<host::UniqueFd> spawn(std::vector<std::string> arguments, pid_t& pid);
  void hear(std::shared_ptr<Beginning> one);
  void settle(std::shared_ptr<Beginning> one, const std::string& problem);
  Result<KeepingPtr> find(const drivers::LogCollector& process);
  void keep(const KeepingPtr& one);
  void carry_out(const KeepingPtr& one);
  void take_output(const KeepingPtr& one, workload::log_action::Take take);
  void await_end(const KeepingPtr& one, workload::log_action::Take take);
  void ended(KeepingPtr one, workload::log_action::Take take);
  void terminate(const drivers::LogCollector& process);
  void reap();

  Agent& agent_;
  std::string executor_;
  std::string directory_;
  std::map<std::string, KeepingPtr> kept_;  ///< By the paths of their outputs.
  std::vector<pid_t> finishing_;            ///< Told to end; those that are children are reaped.
};

}  // namespace nomad::plugin::bridge
