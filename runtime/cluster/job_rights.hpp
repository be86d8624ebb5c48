// Which rights a job's contents need of whoever submits it, besides that of submitting jobs: the
// volumes of nodes that it mounts, and what of CSI it is or uses. Pure.
#pragma once

#include "runtime/access/authorize.hpp"
#include "schema/job.capnp.h"

namespace nomad::cluster {

Result<> authorize_contents(const access::Principal& who, schema::Job::Reader job);

}  // namespace nomad::cluster
