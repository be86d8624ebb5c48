// Signals by name, as job files, the API and the node attribute os.signals have them.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::host {

/// "SIGTERM" (any case) to its number. `invalid_argument` with the valid names otherwise. SIGNULL
/// is 0.
Result<int> parse_signal(std::string_view name);

/// All names, sorted and comma-separated: the attribute os.signals. Sorted, so that equal machines
/// get equal computed classes.
std::string signal_names();

}  // namespace nomad::host
