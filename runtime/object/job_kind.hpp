// What a job is beside its type.
//
// Thread-safe: pure.
#pragma once

#include "schema/job.capnp.h"

namespace nomad {

/// Whether others are made of it by dispatching. What was dispatched keeps the block, for its tasks
/// see the optional keys of it, but is an ordinary job.
inline bool is_parameterized(schema::Job::Reader job) {
  return job.hasParameterizedJob() && !job.getDispatched();
}

}  // namespace nomad
