// Driver: what the agent asks of the driver of tasks. One actor per driver serves all tasks of the
// node. The contract is schema/plugin.capnp, part "drivers": one request, one answer, both objects,
// and descriptors where bytes flow, so that a driver can live in a process of its own.
//
// Rules every driver keeps:
//   - Each Ask is answered once. A request that it does not know is refused (`driver::unknown`).
//   - What cannot be done is the answer `failed`, which says whether it is worth another try. An
//     Error in place of an answer means that the driver itself has failed; so does an exception,
//     which ends it. Another one follows then, and is asked to recover what runs.
//   - StartTask with the run id of a run that exists attaches to it.
//   - The end of a run is told once, urgently, to the agent that it was made with
//     (Notice.exited), and kept until DestroyTask.
//   - It holds no handle but the host's: tasks have names.
//
// The driver_manager owns the drivers; runners ask them directly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/client/tools/plugin_agent.hpp"
#include "actors/core/actor.hpp"
#include "runtime/host/exec_session.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/runs/task_id.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::client {

namespace driver {

struct Ask {
  using is_message = void;
  Object<schema::plugin::DriverRequest> request;
};

/// In the order that the answer says. Who takes them out owns them; the others are closed with the
/// last reference.
using Descriptors = std::shared_ptr<std::vector<host::UniqueFd>>;

struct Answered {
  using is_message = void;
  Object<schema::plugin::DriverAnswer> answer;  ///< Empty: it is done.
  Descriptors descriptors{};
  std::shared_ptr<host::ExecSession> session{};  ///< Of a command, in place of descriptors.
};

using nomad::TaskId;

}  // namespace driver

using Driver = actor::Interface<driver::Answered(driver::Ask)>;

}  // namespace nomad::client
