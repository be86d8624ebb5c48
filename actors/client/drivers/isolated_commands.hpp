// Isolated commands: how tasks of drivers become commands that run in a place of their own: their
// files, processes, rights and share of memory and processors. What that place is, is planned by
// runtime/host/isolation. Of the drivers exec and java; on their threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/client/drivers/config_schema.hpp"
#include "actors/client/drivers/exec_settings.hpp"
#include "actors/client/drivers/executor_tasks.hpp"
#include "actors/client/plugin_catalog.hpp"

namespace nomad::client {

/// Makes the places of one driver's tasks.
class Isolator {
public:
  Isolator(const DriverOptions& options, const ExecSettings& settings);

  /// `command` in the task's place. The first call finds out whether overlays can be made here.
  /// `invalid_argument` or `rejected` says what of the task's configuration is wrong.
  Result<host::TaskCommand> isolate(host::TaskCommand command,
                                    schema::plugin::TaskConfig::Reader config);

private:
  void set_limits(schema::plugin::TaskResources::Reader resources,
                  host::CgroupLimits& limits) const;
  Result<host::Isolation> isolation_of(schema::plugin::TaskConfig::Reader config,
                                       const host::TaskCommand& command,
                                       const ExecTaskSettings& task);
  Result<host::MountInput> mounts_of(schema::plugin::TaskConfig::Reader config);
  bool can_make_overlays();
  Result<std::string> filter_for(host::CapabilitySet capabilities);

  ExecSettings settings_;
  std::string driver_;
  std::string alloc_dir_;
  std::map<std::string, std::string> chroot_env_;
  std::vector<std::string> hidden_;
  std::optional<bool> makes_overlays_{};            ///< Once it was tried.
  std::map<std::uint64_t, std::string> filters_{};  ///< Of system calls, by capabilities.
};

/// What a driver of such tasks is, beside what all of them are.
struct IsolatingDriver {
  std::string name;
  /// The whole of a task's `config`.
  std::span<const ConfigFieldSpec> fields;
  /// Which program, with which arguments, in which environment.
  std::function<Result<host::TaskCommand>(schema::plugin::TaskConfig::Reader)> make_command;
};

/// With settings of the agent that are wrong the driver is there, and says why it runs nothing.
ExecutorTraits isolating_traits(const DriverOptions& options, IsolatingDriver driver);

}  // namespace nomad::client
