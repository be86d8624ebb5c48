#include "runtime/jobspec/validate/total_count.hpp"

#include <fmt/format.h>

namespace nomad::jobspec {

void TotalCount::add(std::int64_t count) {
  if (count > 0 && __builtin_add_overflow(total_, count, &total_)) total_ = INT64_MAX;
}

Result<> TotalCount::check(std::int64_t max_count) const {
  if (max_count == 0 || total_ <= max_count) return {};
  return Error{Errc::invalid_argument,
               fmt::format("total count was greater than configured job_max_count: {} > {}", total_,
                           max_count)};
}

}  // namespace nomad::jobspec
