// What the file system needs to be told so that files and renames survive a power cut.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::storage {

/// A directory that only its owner may look into: of the log, of secrets.
inline constexpr unsigned private_mode = 0700;

/// One that others may pass, if they know what they want in it, and not list: tasks run as other
/// users in the directories of their allocations.
inline constexpr unsigned passable_mode = 0711;

/// Creates `path` and its missing parents with exactly this mode, durably; what is there keeps its
/// own. Errors name the path.
Result<> make_directory(const std::string& path, unsigned mode = private_mode);

/// The same, and what is there becomes private, too.
Result<> make_private_directory(const std::string& path);

/// A directory that is to be there.
struct WantedDirectory {
  std::string path;
  unsigned mode = private_mode;
};

/// `make_directory` for each, parents first, but synced together behind the last: a file system
/// with a journal writes it once then.
Result<> make_directories(const std::vector<WantedDirectory>& wanted);

/// The same without syncing: where names were added, for `sync_directory`.
Result<std::vector<std::string>> add_directories(const std::vector<WantedDirectory>& wanted);

/// The directory that holds the file `path`.
std::string directory_of(const std::string& path);

/// Makes the names in `path` durable: call it after creating, renaming or removing files there.
Result<> sync_directory(const std::string& path);

/// Removes the file, if it is there, durably.
Result<> remove_file(const std::string& path);

/// Makes the contents of the file durable.
Result<> sync_file(const std::string& path);

}  // namespace nomad::storage
