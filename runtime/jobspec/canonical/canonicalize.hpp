// From what a client sent to what a server stores: names, defaults and inheritance of a job in its
// API form, a draft (runtime/jobspec/job_draft.hpp).
//
// Two forms of a job are named here. The *api form* is what clients write and `jobs/parse` answers:
// absence means "not set". The *server form* is what is stored, answered by `GET /v1/job/:id` and
// taken by `validate`, `diff` and the scheduler: every default is written out, what only clients
// have (job-level Reschedule and Migrate, Service.CheckRestart…) has been merged into groups, tasks
// and checks and is gone. Both may leave out members that are null or zero.
//
// Everything changes the draft in location and never fails: decoding is what makes a request safe
// for it. Pure; one pass each; no clock, no random numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "runtime/jobspec/draft_block.hpp"

namespace nomad::jobspec {

/// What the server's configuration contributes.
struct AdmissionOptions {
  std::int64_t default_priority = 50;
  std::string_view default_node_pool = "default";
};

/// Fills the defaults of the api form: `jobs/parse` with Canonicalize, and the first step of
/// registration.
void canonicalize(DraftBlock job);

/// Adds every missing member as null or zero: the shape in which api jobs are answered, which is a
/// tree.
void complete(boost::json::object& job);

/// Turns a canonical api form into the server form.
void to_server_form(DraftBlock job, const AdmissionOptions& options = {});

/// Adds to the groups of a server form the constraints that its services, signals and Vault use
/// imply, unless they are there.
void add_implied_constraints(DraftBlock job);

/// All that registration does to a job before validation: `canonicalize`, `to_server_form`,
/// `add_implied_constraints`.
void admit(DraftBlock job, const AdmissionOptions& options = {});

/// Which region a request goes to, and which one its job is stored with. Empty strings are
/// "not given". Call before `canonicalize`.
struct RequestRegion {
  std::string request;
  std::string job;
};

RequestRegion resolve_region(const DraftBlock& job,
                             std::string_view query_region,
                             std::string_view body_region,
                             std::string_view agent_region);

/// The namespace a job is registered in: the query's, else the body's, else the job's, else
/// "default".
std::string resolve_namespace(const DraftBlock& job,
                              std::string_view query_namespace,
                              std::string_view body_namespace);

}  // namespace nomad::jobspec
