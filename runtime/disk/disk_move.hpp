// The ephemeral disk of a group is what a replacement on the same node takes over from the
// allocation before: "alloc/data" and the "local" directory of each task. Moving it is renaming
// directories, so each of them is moved whole or not at all, and what was interrupted goes on when
// it is called again.
//
// Calls block on the file system. No locking: one caller at a time per allocation.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::disk {

/// Moves the disk from the directory of one allocation into that of another, `to`, whose shared
/// part has been built; what was there in its place is removed. What `from` lacks is passed over.
/// Both are on one file system.
Result<> move_disk(const std::string& from,
                   const std::string& to,
                   const std::vector<std::string>& tasks);

/// Whether the directory of any of the tasks has been built: then tasks may have written there, and
/// the disk must not be taken over any more.
bool is_in_use(const std::string& root, const std::vector<std::string>& tasks);

}  // namespace nomad::disk
