// Filters: which calls are not audited, as the blocks `filter` of the configuration say.
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/audit/event.hpp"

namespace nomad::audit {

/// All three must fit; "*" in a pattern stands for any characters.
struct Filter {
  std::vector<std::string> endpoints;
  std::vector<std::string> stages;
  std::vector<std::string> operations;
};

/// Whether one of `filters` leaves that out. `endpoint` is the path, without its query.
bool leaves_out(const std::vector<Filter>& filters,
                Stage stage,
                std::string_view endpoint,
                std::string_view operation);

}  // namespace nomad::audit
