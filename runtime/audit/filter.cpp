#include "runtime/audit/filter.hpp"

#include <algorithm>

#include "runtime/access/policy/glob.hpp"

namespace nomad::audit {
namespace {

bool fits_one(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [name](const std::string& pattern) {
    return access::glob_matches(pattern, name);
  });
}

}  // namespace

bool leaves_out(const std::vector<Filter>& filters,
                Stage stage,
                std::string_view endpoint,
                std::string_view operation) {
  return std::any_of(filters.begin(), filters.end(), [&](const Filter& filter) {
    return fits_one(filter.stages, name_of(stage)) && fits_one(filter.operations, operation)
           && fits_one(filter.endpoints, endpoint);
  });
}

}  // namespace nomad::audit
