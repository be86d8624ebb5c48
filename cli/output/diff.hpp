// How `job plan` and `job history -p` show the difference between two versions of a job.
#pragma once

#include <string>

#include "cli/output/json_view.hpp"

namespace nomad::cli {

/// The whole difference. Without `verbose`, added and deleted groups and tasks show their title
/// only.
std::string job_diff(const View& diff, bool verbose);

}  // namespace nomad::cli
