// For threads that work briefly and often, and that others wait for.
#pragma once

namespace nomad {

/// Asks the kernel to give the calling thread short turns (0.1 ms): in exchange it gets one as soon
/// as it is woken, where others wait for the running thread's next tick (up to 4 ms). Its share of
/// the processor stays the same; threads that it starts are not affected.
///
/// Linux before 6.12 takes no notice. Where a sandbox forbids the call nothing changes, and the log
/// says so (debug).
void ask_for_short_turns();

}  // namespace nomad
