// Files and folders of others, read within a bound: whoever may write to them decides how much
// there is, and a loop to the end would take as long and as much as that. Blocks on the file
// system.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad {

/// Names of a folder that are read, unless the caller says otherwise.
inline constexpr std::size_t max_folder_names = 100'000;
/// Bytes of a file that are read, likewise.
inline constexpr std::size_t max_whole_file = std::size_t{16} << 20U;

/// The content of a file. `too_large`: it has more than `most` bytes; `not_found`: there is none;
/// other failures are `io`. Reads what /proc makes, too, whose files have no size.
Result<std::string> read_whole_file(const std::string& path, std::size_t most = max_whole_file);

/// The names in a folder, sorted, without "." and "..". `too_large`: there are more than `most`;
/// `not_found`: there is no such folder; other failures are `io`.
Result<std::vector<std::string>> names_in(const std::string& folder,
                                          std::size_t most = max_folder_names);

}  // namespace nomad
