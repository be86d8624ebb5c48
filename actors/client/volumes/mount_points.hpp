// What is done with the file system around the calls to node plugins: directories are made and
// removed, and it is seen what is mounted. Each of these blocks: they are steps.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::client {

/// Whether something is mounted right there. False for what is not there.
bool is_mount_point(const std::string& path);

/// The directory of a plugin: made with all above it, 0700, and such that what is mounted below it
/// reaches the tasks that have it mounted "bidirectional", and the host from there: where what it
/// is on is private, it becomes a mount of its own.
Result<> make_plugin_directory(const std::string& path);

/// Made with all above it below `directory`; 0700.
Result<> make_directory(const std::string& path);

/// After a plugin has said that it is unmounted: takes off what it has left, and the directory.
/// `unavailable`: it is busy.
Result<> clear_mount_point(const std::string& path);

/// Targets below "<root>/<kind>/<plugin>/per-alloc", and what is staged, that are mounted and not
/// among `known` are unmounted: rows of them were lost. Gives what it has unmounted.
std::vector<std::string> clear_unknown(const std::string& root,
                                       const std::vector<std::string>& known);

}  // namespace nomad::client
