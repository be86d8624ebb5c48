// How a process ended: from wait(2), and into messages.
#pragma once

#include "runtime/host/executor/protocol.hpp"
#include "runtime/host/executor/state_file.hpp"

namespace nomad::host::executor {

/// Unix nanoseconds.
std::int64_t unix_now();

/// It has ended now, with this status of wait(2).
ExitStatus exit_of(int status);

void fill_exit(schema::executor::Exit::Builder exit, const ExitStatus& status);

ExitStatus from_message(schema::executor::Exit::Reader exit);

}  // namespace nomad::host::executor
