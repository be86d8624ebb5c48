// Which rights a job's contents need of whoever submits it, besides that of submitting jobs: the
// node pool that it runs in, the volumes of nodes that it mounts, and what of CSI it is or uses.
// Pure.
#pragma once

#include "runtime/access/authorize.hpp"
#include "schema/job.capnp.h"

namespace nomad::cluster {

/// Its node pool alone: also where what is stored already is planned, scaled, dispatched, launched
/// or evaluated by hand.
Result<> authorize_pool(const access::Principal& who, schema::Job::Reader job);

/// All of them; where a version is made of what somebody brings.
Result<> authorize_contents(const access::Principal& who, schema::Job::Reader job);

}  // namespace nomad::cluster
