// What the file system needs to be told so that files and renames survive a power cut.
#pragma once

#include <string>

#include "runtime/base/result.hpp"

namespace nomad::storage {

/// Creates `path` and its missing parents with mode 0700, durably. Errors name the path.
Result<> make_directory(const std::string& path);

/// The directory that holds the file `path`.
std::string directory_of(const std::string& path);

/// Makes the names in `path` durable: call it after creating, renaming or removing files there.
Result<> sync_directory(const std::string& path);

/// Makes the contents of the file durable.
Result<> sync_file(const std::string& path);

}  // namespace nomad::storage
