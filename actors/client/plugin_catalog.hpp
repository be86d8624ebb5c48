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
#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/client/usage_reader.hpp"
#include "runtime/host/fingerprint/fingerprint.hpp"

namespace nomad::workload {
struct TaskHookTraits;
}

namespace nomad::client {

struct HookParts;
struct HookSettings;
class ServiceProviders;
class TaskSockets;

/// What drivers are made from.
struct DriverOptions {
  std::string state_dir;      ///< The client's own.
  std::string executor_path;  ///< Of nomadctl-executor.
  std::string cgroup_parent;
  UsageReader usage_reader;
  BlockingPool steps{};  ///< For what blocks.
  std::function<std::int64_t()> unix_now;
  PluginAgent agent;  ///< Whom it tells of its tasks' ends, of what happens to them, and of itself.
  std::string name;   ///< Its own, in the catalog.
  /// The agent's `plugin "<driver>" { config { … } }`.
  std::map<std::string, std::string> config;
  std::string alloc_dir{};
  std::string cache_dir{};  ///< Of what is slow to find out; empty: nothing is kept.
  std::vector<std::string> private_dirs{};          ///< Of the host, that no task is to see.
  std::map<std::string, std::string> chroot_env{};  ///< Host path to task path; empty: the usual.
  std::uint64_t total_compute_mhz = 0;              ///< Of the machine.
};

struct DriverEntry {
  std::function<Driver(const actor::Owner&, const DriverOptions&)> spawn;
};

struct PluginCatalog {
  /// Makes the built-in hooks once the client has what they need; empty: there are none.
  std::function<Hooks(const HookParts&)> builtin_hooks;
  Hooks hooks;                                 ///< Of plugins.
  std::map<std::string, DriverEntry> drivers;  ///< By name.
  std::vector<host::NamedFingerprinter> fingerprinters;
  std::shared_ptr<ServiceProviders> providers{};  ///< Of plugins; null: there are none.
  std::shared_ptr<TaskSockets> sockets{};         ///< As HookSettings; null: tasks have none.
};

/// The hooks in their order: each as it is given, or right behind the one that it names as `after`.
/// `invalid_argument` for a name that is there twice, an `after` that nobody has, and a circle.
Result<std::vector<HookEntry>> in_order(std::vector<HookEntry> hooks);

/// All hooks of the catalog, in their order; the errors of `in_order`.
Result<Hooks> all_hooks(const PluginCatalog& plugins, const HookParts& parts);

/// What the machine of a task has to know of the hooks of tasks, in their order.
std::vector<workload::TaskHookTraits> task_hook_traits(const std::vector<HookEntry>& of_tasks);

/// The built-in ones. `mock_driver` only with `with_mock_driver`.
PluginCatalog builtin_plugins(bool with_mock_driver, HookSettings settings);
PluginCatalog builtin_plugins(bool with_mock_driver);

}  // namespace nomad::client
