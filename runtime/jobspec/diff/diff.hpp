// What changes from one version of a job to the next: the JobDiff of `job plan` and of
// `job/:id/versions?diffs=true`.
//
// Works on server forms (see canonicalize.hpp); members that are left out count as zero. Driven by
// the fields of the schema (schema.hpp) and a table that says under which name and by which
// identity nested objects are compared. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"

namespace nomad::jobspec {

/// The JobDiff `{Type, ID, Fields, Objects, TaskGroups}` from `old_job` to `new_job`; null is "no
/// such job". With `contextual`, objects that changed list their unchanged fields too. Error: the
/// two jobs have different ids.
Result<boost::json::object> diff(const boost::json::object* old_job,
                                 const boost::json::object* new_job,
                                 bool contextual);

/// What the scheduler would do to one group; the fields of DesiredUpdates.
struct DesiredUpdates {
  std::uint64_t ignore = 0;
  std::uint64_t place = 0;
  std::uint64_t migrate = 0;
  std::uint64_t stop = 0;
  std::uint64_t in_place_update = 0;
  std::uint64_t destructive_update = 0;
  std::uint64_t canary = 0;
};

/// Adds to a JobDiff what the changes lead to: the groups' Updates, "forces create" and
/// "forces destroy" on counts, and the kind of update on tasks.
void annotate(boost::json::object& job_diff,
              const std::map<std::string, DesiredUpdates, std::less<>>& updates);

}  // namespace nomad::jobspec
