// PluginCatalog: every hook, driver and fingerprinter of the client by name, made by factories.
// Built-in ones are entered by `builtin_plugins`, those of plugins by whoever loads plugins, before
// the client starts; it does not change afterwards. There is no registration by global
// constructors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/client/driver.hpp"
#include "actors/client/hook.hpp"
#include "actors/client/stats_reader.hpp"
#include "runtime/host/fingerprint/fingerprint.hpp"

namespace nomad::workload {
struct TaskHookTraits;
}

namespace nomad::client {

/// What an allocation's hooks are made for.
struct AllocScope {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  std::string alloc_root;  ///< "<alloc_dir>/<alloc id>"
  bool health_known = false;
  std::function<std::int64_t()> unix_now;
};

/// What a task's hooks are made for.
struct TaskScope {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  std::string task;
  std::string alloc_root;
  driver::Capabilities driver;
  std::map<std::string, std::string> data;  ///< What the hook left at its last run.
  /// The task's environment, made anew at each call from values that this holds: few hooks need
  /// it, and thousands of scopes may wait at once. Any thread.
  std::function<std::shared_ptr<const workload::TaskEnv>()> env;
};

/// The phases an actor wants to be asked in.
enum class Phase : std::uint8_t {
  prerun = 1,
  pre_task_restart = 2,
  pre_kill = 4,
  postrun = 8,
  poststart = 16,
  exited = 32,
  stop = 64,
};

constexpr std::uint8_t phases(std::initializer_list<Phase> list) {
  std::uint8_t bits = 0;
  for (const auto phase : list)
    bits = static_cast<std::uint8_t>(bits | static_cast<std::uint8_t>(phase));
  return bits;
}

/// A hook of allocations. Functions may be empty; they block and run on any thread.
struct AllocHookEntry {
  std::string name;
  std::function<bool(const AllocScope&)> wanted;
  std::function<Result<>(const AllocScope&)> prerun;
  std::function<Result<>(const AllocScope&)> destroy;  ///< The allocation is forgotten.
  /// Or an actor; `listener` is for the health hook alone.
  std::function<AllocHook(const actor::Owner&, const AllocScope&, HealthListener listener)> spawn;
  std::uint8_t asked_in = 0;  ///< `phases` of the actor.
};

/// A hook of tasks. Every actor is asked in Prestart.
struct TaskHookEntry {
  std::string name;
  std::function<bool(const TaskScope&)> wanted;
  std::string announcement;  ///< "Task Setup" event before its first run; empty: none.
  std::function<Result<hook::Prestarted>(const TaskScope&)> prestart;
  std::function<TaskHook(const actor::Owner&, const TaskScope&)> spawn;
  std::uint8_t asked_in = 0;
};

/// What drivers are made from.
struct DriverOptions {
  std::string state_dir;      ///< The client's own.
  std::string executor_path;  ///< Of nomadctl-executor.
  std::string cgroup_parent;
  StatsReader stats;
  std::function<std::int64_t()> unix_now;
  /// The agent's `plugin "<driver>" { config { … } }`.
  std::map<std::string, std::string> config;
};

struct DriverEntry {
  driver::Capabilities capabilities;
  std::function<Driver(const actor::Owner&, const DriverOptions&)> spawn;
};

struct PluginCatalog {
  std::vector<AllocHookEntry> alloc_hooks;     ///< In their order.
  std::vector<TaskHookEntry> task_hooks;       ///< In their order.
  std::map<std::string, DriverEntry> drivers;  ///< By name.
  std::vector<host::NamedFingerprinter> fingerprinters;
};

/// What the machine of a task has to know of the hooks of tasks, in their order.
std::vector<workload::TaskHookTraits> task_hook_traits(const PluginCatalog& plugins);

/// The built-in ones. `mock_driver` only with `with_mock_driver`.
PluginCatalog builtin_plugins(bool with_mock_driver);

}  // namespace nomad::client
