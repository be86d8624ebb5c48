// What reads the outputs of a task that is nobody's child here (`nomadctl-executor logs …`): two
// FIFOs that a task driver of somebody else's writes to, kept as files like any task's. It lives as
// long as the task, whatever becomes of who has started it.
#pragma once

namespace nomad::host::executor {

/// arguments: ALLOC_ROOT TASK MAX_FILES MAX_FILE_BYTES OUT_FIFO ERRORS_FIFO. The FIFOs are there.
///
/// Until SIGTERM: then what has been written is read to its end, for a second at most, and the
/// FIFOs are removed. It also ends when the FIFOs are gone. Returns the exit status.
int keep_logs(int count, char** arguments);

}  // namespace nomad::host::executor
