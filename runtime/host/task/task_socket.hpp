// TaskSocket: a listening Unix socket in a task's directory, where the task may have put anything.
//
// It is made beside its location, gets its owner and mode, listens, and is then renamed over what
// is there: at no moment may somebody else connect, and no connection is refused. Paths are as long
// as directories let them be: sun_path only has to hold a name below /proc/self/fd. What a link or
// a name that was swapped leads to is never changed.
//
// Calls block on the file system.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

struct TaskSocket {
  UniqueFd listening;  ///< Non-blocking.
  ino_t inode = 0;     ///< Of its file.
};

/// The modes that secrets of a task have in files: for their owner alone or, when it is not known
/// or the file can't be given to him, for everybody who may enter the directory.
inline constexpr mode_t owner_only = 0600;
inline constexpr mode_t for_everybody = 0666;

/// Listens at `name` in `directory`, which is below `root`. Without an owner that can be set its
/// mode is `for_everybody`. Whatever is there goes, a directory with all that is in it.
Result<TaskSocket> listen_for_task(const Beneath& root,
                                   std::string_view directory,
                                   const std::string& name,
                                   const FileOwner& owner);

/// Whether that very file is still there.
bool is_at(const Beneath& root, std::string_view directory, const std::string& name, ino_t inode);

/// Removes the file, unless it is a directory; one that is not there is no error.
Result<> remove_from_task(const Beneath& root, std::string_view directory, const std::string& name);

}  // namespace nomad::host
