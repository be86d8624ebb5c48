// Whether the names in a condition of admission are any: what a misspelt one says would hold of no
// job, and nobody could register any. Pure.
#pragma once

#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::cluster {

/// Of a condition that can be compiled. What is in maps and in free JSON (a task's Config) may have
/// any name.
Result<> check_condition_names(std::string_view condition);

}  // namespace nomad::cluster
