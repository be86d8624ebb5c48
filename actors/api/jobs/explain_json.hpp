// The JSON of an explanation, as one caller may see it: without node:read there are no names of
// nodes, nothing that one of them has, and no figures of what is free.
#pragma once

#include <string>

#include "runtime/scheduler/explain/capacity.hpp"
#include "runtime/scheduler/explain/explanation.hpp"

namespace nomad::api {

std::string capacity_json(const std::vector<scheduler::explain::GroupCapacity>& groups,
                          bool shows_nodes);

std::string explanation_json(const scheduler::explain::Explanation& explained, bool shows_nodes);

}  // namespace nomad::api
