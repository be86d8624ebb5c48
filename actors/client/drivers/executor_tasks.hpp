// ExecutorTasks: what drivers have in common whose tasks are processes of this machine, each under
// a nomadctl-executor, which outlives the agent. A driver of that kind is an actor whose state has
// one of these and says, by ExecutorTraits, how a task becomes a command.
//
// Owns an ExecutorClient (one thread for all tasks of the driver). Asks the UsageReader for usage:
// once for all tasks whose usage is streamed, at each tick. Lives in its actor, and on its thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "runtime/host/executor_client.hpp"

namespace nomad::client {

namespace executor_tasks {

/// A stream of usage is due.
struct ReadingDue {
  using is_message = void;
  std::uint64_t round;
};

}  // namespace executor_tasks

/// The actor of such a driver, with what it tells itself.
using ExecutorDriver = actor::WithInternal<Driver, void(executor_tasks::ReadingDue)>;

/// What one driver of that kind is.
struct ExecutorTraits {
  std::string attribute;         ///< Of the node when it works: "driver.raw_exec".
  std::string state_dir;         ///< Where its executors have their places.
  std::uint32_t handle_version;  ///< Of its handles, which hold the run's id.
  Object<schema::plugin::DriverDescription> description;
  bool enabled = true;
  bool use_cgroups = true;
  bool limits = false;    ///< Its tasks are held to what they were given.
  std::string problem{};  ///< Why nothing can be run here; empty: nothing is known.
  std::function<Result<host::TaskCommand>(schema::plugin::TaskConfig::Reader)> make_command;
  /// Looks for what the driver needs of this machine, and says how it is with it. Blocks, so it is
  /// called where steps are run. None: it needs nothing.
  std::function<Object<schema::plugin::Fingerprint>()> detect{};
  /// What of the machine's control groups, and else, does not suffice.
  std::function<std::optional<Object<schema::plugin::Fingerprint>>(const host::Cgroups&)> lacking{};
  /// Asks the task to end by itself. What it returns is kept until the task has ended; none: the
  /// task gets a signal.
  std::function<host::UniqueFd(const driver::TaskId&)> ask_to_end{};
  /// What the driver tells of the task's ports.
  std::function<workload::DriverNetwork(schema::plugin::TaskConfig::Reader)> network_of{};
};

/// What of a command is the same for each of these drivers: all but the program and its arguments,
/// and where it lives.
Result<host::TaskCommand> bare_command(schema::plugin::TaskConfig::Reader config);

/// With `command` and `args` of the task's configuration.
Result<host::TaskCommand> plain_command(schema::plugin::TaskConfig::Reader config);

class ExecutorTasks {
public:
  explicit ExecutorTasks(ExecutorDriver::pointer self);
  ~ExecutorTasks();

  void init(const DriverOptions& options, ExecutorTraits traits);

  /// What the actor does from now on.
  ExecutorDriver::behavior_type behavior();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nomad::client
