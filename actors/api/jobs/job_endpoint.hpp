// The operations on jobs that write or compute; job_endpoint.cpp puts them into the route table
// beside the reads.
#pragma once

#include <functional>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/cluster/job_commands.hpp"

namespace nomad::api {

// job_write_endpoint.cpp: what takes a job.
Outcome register_job(Call& call, const JobParts& parts);
Outcome deregister_job(Call& call);
Outcome parse_job(Call& call);
Outcome validate_job(Call& call, const JobParts& parts);

// job_plan_endpoint.cpp
Outcome plan_job(Call& call, const JobParts& parts);

// job_action_endpoint.cpp: what acts on a stored one.
Outcome evaluate_job(Call& call);
Outcome revert_job(Call& call, const JobParts& parts);
Outcome set_job_stability(Call& call);
Outcome scale_job(Call& call, const JobParts& parts);
Outcome dispatch_job(Call& call, const JobParts& parts);
Outcome force_periodic(Call& call);

// job_scale_endpoint.cpp
Outcome job_scale_status(Call& call);

// job_version_endpoint.cpp
Outcome job_versions(Call& call);
Outcome tag_version(Call& call);
Outcome untag_version(Call& call);

// job_statuses_endpoint.cpp
Outcome job_statuses(Call& call);

// job_explain_endpoint.cpp
Outcome explain_job(Call& call);
Outcome job_capacity(Call& call);

/// The list of all jobs, or of those that `wanted` likes.
Result<Read> job_list(const ReadOptions& options,
                      bool with_meta,
                      std::function<bool(schema::Job::Reader)> wanted);

/// The answer to everything that ends in an evaluation of a job.
Answer job_registered(const server::Written<cluster::Decision>& written, std::string_view warnings);

}  // namespace nomad::api
