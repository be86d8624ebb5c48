// The scaling policies of jobs. A policy stands in its group of the job; that it can be listed and
// found by its id is derived from there (`kind::Jobs::derive`). Private to this folder.
#pragma once

#include <string>

#include "runtime/object/draft.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state {

/// Gives the policies of a job that is being stored their ids and indexes: those of `existing`'s
/// policy of the same group and type, or new ones. The id of a new one follows from what it is and
/// from `index`, so that it is the same on all servers.
void name_policies(schema::Job::Builder job, const Object<schema::Job>& existing, Index index);

/// One that was stored before policies had ids gets what it would have had.
Object<schema::ScalingPolicy> complete_policy(schema::ScalingPolicy::Reader policy,
                                              schema::Job::Reader job,
                                              std::string_view group);

}  // namespace nomad::state
