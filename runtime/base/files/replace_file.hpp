// replace_file: a file has its new content or the old one, never half of one, also when the process
// dies while it writes.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad {

/// Whether a file that was replaced must survive a power cut, too.
enum class Durability : bool {
  of_process,  ///< What the system has taken is enough.
  of_disk,     ///< Content and name are synced on return.
};

/// Puts `content` in the place of `path`, readable by its owner alone (0600). It is written to
/// "<path>.new" first, which is no link and is not left behind by a failure; one writer of a path
/// at a time. A disk or quota that is exhausted is `overloaded`, other failures are `io`. Blocks
/// for as long as the disk does.
Result<> replace_file(const std::string& path, std::string_view content, Durability durability);

/// The failure of a system call: `overloaded` where the disk or a quota is exhausted, else `io`.
Error disk_error(std::string_view attempt, int errno_value);

/// Whether `errno_value` says that no more bytes fit until some are freed. A limit of file sizes is
/// none of these: nothing that is freed lifts it.
bool is_no_space(int errno_value);

}  // namespace nomad
