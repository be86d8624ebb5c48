// What `nomadctl why` knows of a job: answers of the API as they came, and what of them deserves a
// closer look. Pure; who asks the API is cli/why/ask.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "cli/output/json_view.hpp"

namespace nomad::cli::why {

struct Facts {
  std::int64_t now = 0;            ///< Unix nanoseconds.
  boost::json::value job;          ///< /v1/job/x
  boost::json::value evaluations;  ///< /v1/job/x/evaluations
  boost::json::value allocations;  ///< /v1/job/x/allocations
  boost::json::value deployments;  ///< /v1/job/x/deployments
  boost::json::value ns;           ///< /v1/namespace/x, if a quota has to do with it.
  boost::json::value nodes;        ///< Stubs with resources: the first of a long list.
  std::map<std::string, boost::json::value> checks;  ///< /v1/client/allocation/x/checks, by id.
  /// The end of what a task has written, by allocation and task.
  std::map<std::pair<std::string, std::string>, std::string> output;
  std::string only_alloc = {};  ///< The one that is asked about; "": the job.
};

/// An allocation that is not as it should be.
struct FailingAlloc {
  View alloc;             ///< The stub, which is the facts'.
  std::string task;       ///< The one that is to blame; "" if none is.
  std::size_t alike = 0;  ///< Others of the group that are not as they should be either.
};

/// The newest failing allocation of each group, those of the last deployment before it was rolled
/// back, too. Of one allocation that alone.
std::vector<FailingAlloc> failing_allocs(const Facts& facts);

/// Newest running allocations of groups whose checks may tell something, at most one of a group
/// of which none fails.
std::vector<std::string> allocs_to_check(const Facts& facts);

/// What the newest evaluation that could not place all has to say of each group: an object of
/// metrics by group; null if everything is placed.
View placement_metrics(const Facts& facts);

/// The group of the job, null if it is not there.
View group_of_job(const Facts& facts, std::string_view name);

/// The job's deployments, newest first.
std::vector<View> newest_deployments(const Facts& facts);

/// The deployment whose failure made the job's newest version, as a rollback does: both are written
/// at once, and what its allocations report later changes the deployment again. Null for none, also
/// if the job was registered since.
View undone_deployment(const Facts& facts);

}  // namespace nomad::cli::why
