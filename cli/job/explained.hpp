// What GET /v1/job/:id/explain says, as several commands show it.
#pragma once

#include <string>

#include "cli/api.hpp"

namespace nomad::cli {

/// The first line for a job of which something waits for a place; empty if nothing does, or if the
/// agent does not know (it is an older one, or the caller may not).
std::string placement_summary(Api& api, const std::string& job);

}  // namespace nomad::cli
