// Writes a start message: the one place that maps TaskCommand to schema/executor.capnp.
#pragma once

#include <string>

#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/executor_client.hpp"

namespace nomad::host {

/// `search_path` stands in for an empty one of the command.
void fill_start(schema::executor::Start::Builder start,
                const TaskCommand& command,
                const CgroupScope& cgroup,
                const std::string& search_path);

}  // namespace nomad::host
