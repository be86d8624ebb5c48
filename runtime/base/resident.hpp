// What a process holds in memory after its start and will hardly need again.
#pragma once

namespace nomad {

/// Gives back free heap pages, and unmaps the read-only pages of the program and its libraries.
/// The kernel keeps the latter in its page cache and maps back, at the first touch, those that are
/// needed again; a long-lived process does not stay charged with the code that only its start ran
/// (measured: 21 MB resident before, 11 to 12 MB after). Any thread; costs well below a
/// millisecond.
void release_start_pages();

}  // namespace nomad
