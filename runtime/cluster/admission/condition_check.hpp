// Whether a condition of admission can ever be evaluated: whether its names are any, and what is
// asked of them can be. One that cannot would hold of no job, and nobody could register any. Pure.
#pragma once

#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::cluster {

/// Of a condition that can be compiled. What is in maps and in free JSON (a task's Config) may have
/// any name, and what is in such JSON may be of any kind.
Result<> check_condition(std::string_view condition);

}  // namespace nomad::cluster
