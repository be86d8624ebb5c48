// Failpoints: named places at which a test makes the program fail: between a write and its fsync,
// between a snapshot and the cut of the log, before an entry is applied. In builds without the
// meson option `failpoints` each is a no-op and its name is not in the binary.
//
//     NOMAD_FAILPOINT("raft.before_fsync");            // the process may end here
//     NOMAD_FAILPOINT_ERROR("client.before_save");     // or the function return an error
//     NOMAD_FAILPOINT_THROW("client_db");              // or a handler of this actor throw
//
// What happens is up to the handler of the thread (the simulation's, which crashes one machine of
// its world), else of the process: NOMAD_FAILPOINTS="raft.before_fsync=kill@3;client.before_save=
// error" in the environment kills the process (SIGKILL) when it comes there for the third time, and
// lets every save fail. Nothing set: nothing happens. NOMAD_FAILPOINTS="@<file>" means what the
// file says, which is read again when it has changed: so tests give orders to a running process.
// There, "hook.task_dir.prestart=hold" keeps each thread that comes to the place until the file
// says something else; it is logged.
#pragma once

#include <functional>
#include <string_view>

#include "runtime/base/failpoint_config.hpp"
#include "runtime/base/result.hpp"

namespace nomad::failpoint {

/// Called with the name of each failpoint that the thread reaches; it may throw, or end the
/// process. An error is returned by those that can.
using Handler = std::function<Result<>(std::string_view name)>;

/// Of the calling thread, from now on; empty: none.
void set_handler(Handler handler);

/// What the environment's variable says, for the whole process: `invalid_argument` names the part
/// that is none. Replaces what was set before.
Result<> configure(std::string_view text);

/// Reaches the failpoint `name`.
Result<> reach(std::string_view name);

/// Throws a std::runtime_error if the process is told "throw_in:<actor>=error". Handlers of threads
/// are not asked: they would be at every message.
void throw_in(std::string_view actor);

}  // namespace nomad::failpoint

#ifdef NOMAD_WITH_FAILPOINTS
#define NOMAD_FAILPOINT(name) static_cast<void>(::nomad::failpoint::reach(name))
#define NOMAD_FAILPOINT_ERROR(name) NOMAD_TRY(::nomad::failpoint::reach(name))
#define NOMAD_FAILPOINT_THROW(actor) ::nomad::failpoint::throw_in(actor)
#else
#define NOMAD_FAILPOINT(name) static_cast<void>(0)
#define NOMAD_FAILPOINT_ERROR(name) static_cast<void>(0)
#define NOMAD_FAILPOINT_THROW(actor) static_cast<void>(0)
#endif
