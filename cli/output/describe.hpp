// Descriptions that several commands share: placement failures and deployments.
#pragma once

#include <string>

#include "cli/output/json_view.hpp"

namespace nomad::cli {

/// Why a group could not be placed: one `* …` bullet a line, each indented by `indent`.
std::string placement_failure(const View& metric, const std::string& indent);

/// `Task Group "g" (failed to place 2 allocations):` and its bullets, for every failed group.
std::string placement_failures(const View& failed_groups,
                               const std::string& indent,
                               std::string_view between = "\n");

/// The block of `deployment status`. With `brief`, what `job status` shows of it.
std::string deployment_block(const View& deployment, bool verbose, bool brief);

}  // namespace nomad::cli
