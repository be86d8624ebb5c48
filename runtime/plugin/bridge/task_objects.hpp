// What is said of tasks, between this agent's form (plugin.capnp) and that of Nomad's drivers.
// Pure.
#pragma once

#include <string>

#include "runtime/plugin/bridge/wire.hpp"
#include "runtime/plugin/sdk/task_driver.hpp"
#include "runtime/workload/task_event.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::plugin::bridge {

/// Where a task writes to.
struct LogPaths {
  std::string out = "/dev/null";
  std::string errors = "/dev/null";
};

/// The id of a run, as Nomad makes them: "<alloc>/<task>/<8 signs>".
std::string remote_id(const TaskId& id, std::string_view run_id);

/// `driver_config` is the task's `config` as MessagePack.
drivers::TaskConfig task_config(schema::plugin::TaskConfig::Reader from,
                                std::string driver_config,
                                const LogPaths& logs);

/// How a run ended.
workload::ExitResult run_end(const drivers::WaitTaskResponse& from);

void fill_network(schema::plugin::DriverNetwork::Builder to, const drivers::NetworkOverride& from);
void fill_usage(schema::plugin::TaskUsage::Builder to, const drivers::TaskStats& from);

/// Attributes are texts: "5", "true", "4GHz".
void fill_fingerprint(schema::plugin::Fingerprint::Builder to,
                      const drivers::FingerprintResponse& from);

void fill_event(schema::plugin::Event::Builder to, const drivers::DriverTaskEvent& from);

}  // namespace nomad::plugin::bridge
