// What other resources need of the allocations' endpoint.
#pragma once

#include <string>
#include <vector>

#include "runtime/state/tables.hpp"

namespace nomad::api {

/// The JSON array of the stubs of `rows`, oldest first.
std::string stub_list(std::vector<state::AllocRef> rows);

}  // namespace nomad::api
