// ClientContext: what every runner of the client needs, as it was when the runner was made. An
// immutable value, shared; when the node or a driver changes, the client makes another for the
// runners that come.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/client/alloc_sync.hpp"
#include "actors/client/drivers/driver_manager.hpp"
#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/check_runner.hpp"
#include "actors/client/tools/client_db.hpp"
#include "actors/client/tools/steps.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/host/exec_pump.hpp"
#include "runtime/network/alloc_networks.hpp"
#include "runtime/telemetry/registry.hpp"
#include "runtime/workload/task_env.hpp"

namespace nomad::workload {
struct TaskHookTraits;
}

namespace nomad::client {

struct ClientContext {
  std::string node_id;
  std::string region;
  std::string datacenter;
  std::string cgroup_parent;
  std::string alloc_dir;  ///< Of the client: allocations have directories below it.
  std::shared_ptr<const workload::Variables> node;  ///< What `${…}` may name of the node.
  Object<schema::Node> node_record;                 ///< As it is registered.
  workload::Variables host_env;                     ///< The agent's environment, filtered.
  Nanoseconds max_kill_timeout = std::chrono::seconds{30};
  Nanoseconds usage_interval = std::chrono::seconds{1};  ///< As in ClientOptions.

  std::shared_ptr<const Hooks> hooks;
  /// `task_hook_traits` of them, for all runners.
  std::shared_ptr<const std::vector<workload::TaskHookTraits>> task_hooks;
  std::shared_ptr<const KnownDrivers> drivers;  ///< By name.
  DriverManager driver_manager;
  std::shared_ptr<host::ExecPumpOnDemand> exec_pump;  ///< Of commands beside tasks.
  ClientDb db;
  NodeDoor servers;
  AllocSync sync;
  CheckRunner checks;
  StepRunner steps;
  std::shared_ptr<const network::NetworkOptions> network;  ///< Of allocations.

  std::shared_ptr<telemetry::Registry> task_metrics;  ///< Null: what tasks do is not counted.

  std::function<std::int64_t()> unix_now;  ///< Wall clock, in nanoseconds.
  std::uint64_t seed = 0;                  ///< Runners derive their own chance from it.

  /// Null: there is none that may run something here.
  const KnownDriver* driver(const std::string& name) const {
    const auto found = drivers->find(name);
    return found == drivers->end() || found->second.retired ? nullptr : &found->second;
  }

  std::string alloc_root(std::string_view alloc_id) const {
    return alloc_dir + '/' + std::string{alloc_id};
  }
};

using Context = std::shared_ptr<const ClientContext>;

}  // namespace nomad::client
