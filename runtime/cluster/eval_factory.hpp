// The evaluations that a change of the state calls for. Deciding code of the server's endpoints: it
// reads a snapshot and gets time and randomness as arguments.
//
// May depend on: runtime/base, object, state.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/eval.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::cluster {

/// What every new evaluation needs from outside.
struct EvalSeed {
  std::int64_t now = 0;  ///< Unix nanoseconds.
  Random* random = nullptr;
};

/// A pending evaluation of `job`. `priority` 0 is the job's.
Object<schema::Evaluation> eval_for_job(schema::Job::Reader job,
                                        schema::EvalTrigger trigger,
                                        const EvalSeed& seed,
                                        std::int64_t priority = 0);

/// A pending evaluation of a job that may be unknown (it was purged, or never existed).
Object<schema::Evaluation> eval_for_unknown_job(std::string_view ns,
                                                std::string_view job_id,
                                                schema::EvalTrigger trigger,
                                                const EvalSeed& seed);

/// One evaluation for each job with something on the node, and one for each system job that could
/// run there.
std::vector<Object<schema::Evaluation>> evals_for_node(const state::Snapshot& snapshot,
                                                       std::string_view node_id,
                                                       const EvalSeed& seed);

/// The evaluations that clients' reports call for: one for each job of which an allocation that
/// should run has failed, or was ended by its client alone, or is back after an absence. `reports`
/// name allocations by id.
std::vector<Object<schema::Evaluation>> evals_for_reports(
    const state::Snapshot& snapshot,
    const std::vector<Object<schema::Allocation>>& reports,
    const EvalSeed& seed);

}  // namespace nomad::cluster
