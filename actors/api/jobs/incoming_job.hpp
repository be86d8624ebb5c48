// IncomingJob: a job that a request carries, in the server's form: decoded, its
// namespace and region resolved, defaults filled in and every rule checked (runtime/jobspec).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "actors/api/http/routes.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/object/flat_json.hpp"
#include "runtime/object/object.hpp"
#include "schema/job.capnp.h"

namespace nomad::api {

/// What differs between the requests that carry a job.
struct JobTexts {
  std::string_view type;  ///< Go's name of the request.
  std::string_view without_id;
  std::string_view other_id;
  /// Only the job's mistakes are asked for: its id may be missing, its region is any, its namespace
  /// its own.
  bool only_validates = false;
};

struct IncomingJob {
  FlatJson body;  ///< What else the request says; refers to the request.
  jobspec::JobDraft draft;
  jobspec::Validation validation{};

  /// The job belongs to this region and not to ours: nothing was made of it. Empty: ours.
  std::string other_region{};
};

/// Takes the job out of the request's body, if its namespace is the caller's to ask this of. `id`
/// is that of the path; empty if it names none.
Result<IncomingJob> take_job(const Call& call,
                             const JobParts& parts,
                             std::string_view id,
                             const JobTexts& texts);

using JobHandler = Outcome (*)(Call& call, const JobParts& parts);

/// Goes on with a job that is of another region than the request.
Outcome pass_on(Call& call, const std::string& region, const JobParts& parts, JobHandler handler);

/// The other region that the request's job is for; "": none, or the body is long.
std::string region_of_job(const Call& call);

/// What of the job's surroundings does not exist, or does not take the job: judged by `take_job`,
/// and once more with what is written.
std::vector<std::string> state_errors(const state::Snapshot& snapshot,
                                      const jobspec::DraftBlock& job);

/// The schema object of a valid job. Its submit time is the server's, its tokens are left out, and
/// it names the token of `who` submits it by the accessor.
Object<schema::Job> freeze_job(jobspec::JobDraft& draft, const access::Principal& who);

}  // namespace nomad::api
