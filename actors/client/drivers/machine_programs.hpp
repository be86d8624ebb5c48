// Programs of this machine that drivers run or ask. Blocks; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::client {

/// The file of the program `name`, without links: looked for where the agent's PATH says, else in
/// the system's usual locations. `not_found` says where it was not.
Result<std::string> find_machine_program(std::string_view name);

/// What `program` prints on both of its outputs, or printed when the same file was asked before, by
/// what is kept in `cache_dir`. Errors: as host::run_program; `rejected` when it ends with a code
/// other than 0.
Result<std::string> ask_machine_program(const std::string& cache_dir,
                                        const std::string& program,
                                        const std::vector<std::string>& arguments);

}  // namespace nomad::client
