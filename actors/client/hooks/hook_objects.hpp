// The objects of the plugin contract (schema/plugin.capnp) from values of this process, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/client/hooks/hook.hpp"
#include "runtime/network/name_files.hpp"
#include "runtime/workload/checks/check_result.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_record.hpp"
#include "runtime/workload/task_state.hpp"

namespace nomad::client {

void write_exit(const workload::ExitResult& from, schema::plugin::ExitResult::Builder to);
workload::ExitResult read_exit(schema::plugin::ExitResult::Reader from);

void write_network(const workload::DriverNetwork& from, schema::plugin::DriverNetwork::Builder to);
workload::DriverNetwork read_network(schema::plugin::DriverNetwork::Reader from);

/// What a hook's answer leaves for its next run.
workload::HookRecord record_of(const Object<schema::plugin::HookAnswer>& answer);

/// An event of the type and text that the notice says.
workload::TaskEvent read_event(schema::plugin::Event::Reader from);

/// The states without their histories; `names` are the tasks', in the same order.
Object<schema::plugin::TaskStates> task_states(
    const std::vector<std::string>& names,
    const std::vector<std::shared_ptr<const workload::TaskState>>& states,
    bool alloc_failed,
    const std::vector<workload::CheckStanding>& checks);

using CheckStandings = capnp::List<schema::plugin::CheckStanding>;

void write_standings(const std::vector<workload::CheckStanding>& from, CheckStandings::Builder to);
std::vector<workload::CheckStanding> read_standings(CheckStandings::Reader from);

workload::TaskState read_summary(schema::plugin::TaskSummary::Reader from);

/// The name servers of a network block; its texts are interpolated.
network::Resolvers resolvers_of(schema::NetworkResource::Reader network,
                                const workload::TaskEnv& env);

}  // namespace nomad::client
