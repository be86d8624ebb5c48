// TotalCount: the bound of a job's allocations, all groups together. For whatever changes a job:
// registrations, reverting, scaling.
#pragma once

#include <cstdint>

#include "runtime/base/result.hpp"

namespace nomad::jobspec {

class TotalCount {
public:
  /// One group's count. A negative one, which is a mistake of its own, adds nothing.
  void add(std::int64_t count);

  /// Whether no more than `max_count` are asked for (`job_max_count`); 0 is no bound.
  Result<> check(std::int64_t max_count) const;

private:
  std::int64_t total_ = 0;  ///< INT64_MAX when it is more.
};

}  // namespace nomad::jobspec
