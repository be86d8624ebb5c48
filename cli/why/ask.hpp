// Gathers the facts of `nomadctl why` from an agent.
#pragma once

#include <string>

#include "cli/api.hpp"
#include "cli/why/facts.hpp"

namespace nomad::cli::why {

/// Of the job `id` in the namespace of `api`; with `only_alloc` of this allocation of it. A fixed
/// number of requests, and two for each failing allocation. What can't be asked for of nodes and
/// tasks (a right is missing, a node is away) is left out.
Result<Facts> ask(Api& api, const std::string& id, const std::string& only_alloc);

}  // namespace nomad::cli::why
