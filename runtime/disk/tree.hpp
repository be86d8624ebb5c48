// Directories and files below a directory that others may write to: opened by descriptors, without
// following a link anywhere.
//
// May depend on: runtime/base, runtime/host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::disk {

/// The directory `name` of `parent`, itself and no link to one; empty, with errno, if it can't be
/// opened.
host::UniqueFd open_directory(int parent, const char* name);

/// Makes `name` in `parent` if it is not there, and opens it. `conflict` if it is no directory.
Result<host::UniqueFd> make_directory(int parent, const std::string& name, mode_t mode);

/// The names in a directory, sorted, without "." and "..".
Result<std::vector<std::string>> entries_of(int directory);

/// Splits "alloc/data/a" into its parts. `rejected` for what is no path of something below a
/// directory: an absolute one, one with "..", an empty one, one of more than 4,096 bytes.
Result<std::vector<std::string>> split_path(std::string_view path);

}  // namespace nomad::disk
