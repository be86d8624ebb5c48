// The operations on jobs that write or compute; job_endpoint.cpp puts them into the route table
// beside the reads.
#pragma once

#include "actors/api/http/call.hpp"
#include "runtime/cluster/job_commands.hpp"

namespace nomad::api {

// job_write_endpoint.cpp: what takes a job.
void register_job(Call call);
void deregister_job(Call call);
void plan_job(Call call);
void parse_job(Call call);
void validate_job(Call call);

// job_action_endpoint.cpp: what acts on a stored one.
void evaluate_job(Call call);
void revert_job(Call call);
void set_job_stability(Call call);
void scale_job(Call call);
void dispatch_job(Call call);
void force_periodic(Call call);

// job_scale_endpoint.cpp
void job_scale_status(Call call);

/// The answer to everything that ends in an evaluation of a job.
Answer job_registered(const server::Written<cluster::Decision>& written, std::string_view warnings);

/// The namespace of a write: the query's, or "default".
std::string write_namespace(const net::Request& request);

}  // namespace nomad::api
