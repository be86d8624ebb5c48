// Making and writing control groups, for the files of this folder that do.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::host {

bool is_directory(const std::string& path);

/// Makes a control group; success when it is there.
Result<> make_group(const std::string& path);

/// Writes a file of a control group by one call, as the kernel wants it.
Result<> write_group_file(const std::string& path, std::string_view text);

/// Version 2: children of `group` get the controllers that it has. What is not there, or not
/// allowed, shows when a limit is written.
void hand_down(const std::string& group);

}  // namespace nomad::host
