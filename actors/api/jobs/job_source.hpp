// The source of a job, which a registration brings along: checked, and written for the version that
// the registration made.
//
// It may hold secrets (variables): it never is part of an error, a log or an event.
#pragma once

#include <functional>
#include <string>

#include "actors/api/http/call.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/server/writer.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "schema/scaling.capnp.h"

namespace nomad::api {

struct JobSource {
  Object<schema::JobSubmission> submission{};  ///< Empty: none is to be kept.
  std::string warning{};                       ///< Why it is not kept, though one came.
};

/// The member `Submission` of a registration. `max_bytes`: of source and variables together.
Result<JobSource> take_source(BodyFields& fields, std::uint64_t max_bytes);

/// Writes the source of what `done` registered, and then calls `then`, in a turn, with why that
/// failed; empty: it did not, or there was nothing to write. The job stays registered whatever
/// comes of it.
void keep_source(const server::Writer& writer,
                 const server::Written<cluster::Decision>& done,
                 const JobSource& source,
                 std::string_view ns,
                 const Turns& turns,
                 std::function<void(const std::string& warning)> then);

}  // namespace nomad::api
