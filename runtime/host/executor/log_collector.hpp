// What reads the outputs of a task that is nobody's child here (`nomadctl-executor logs …`): two
// FIFOs that a task driver of somebody else's writes to, kept as files like any task's. It lives as
// long as the task, whatever becomes of who has started it.
#pragma once

namespace nomad::host::executor {

inline constexpr const char* logs_are_read = "logs are read";

/// arguments: ALLOC_ROOT TASK MAX_FILES MAX_FILE_BYTES OUT_FIFO ERRORS_FIFO. The FIFOs are there.
///
/// When it reads them it says `logs_are_read`, a line on standard error, and closes that; what it
/// can't open is said there instead, and it ends.
///
/// Until SIGTERM: then what has been written is read to its end, for a second at most, and the
/// FIFOs are removed. It also ends when the FIFOs are gone. Returns the exit status.
int keep_logs(int count, char** arguments);

}  // namespace nomad::host::executor
