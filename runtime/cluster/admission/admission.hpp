// Admission: whether the policies of operators let a job in; and these policies as commands for the
// log. What an advisory policy says against a job is a warning; what a soft-mandatory one says is,
// too, for who passes over it (`sentinel-override`), and refuses the job else; a hard-mandatory one
// always refuses. A policy whose text cannot be read is as one whose rules do not hold.
//
// Judged in the decision that registers the job, on the state that its command is guarded by.
// May depend on: runtime/base, access, jobspec, object, query, state. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/access/authorize.hpp"
#include "runtime/cluster/admission/admission_rules.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::cluster {

struct Decision;

/// Puts a policy, if its text can be read and its words are known.
Result<Decision> decide_put_admission(const state::Snapshot& state,
                                      const access::Asking& asking,
                                      schema::AdmissionPolicy::Reader policy);

struct SubmissionOptions {
  bool overrides = false;   ///< Whether soft-mandatory policies are to be passed over.
  ReadAdmission read = {};  ///< Empty: policies are read each time.
};

/// The warnings; the error names each policy and rule that refuses. Who may not pass over policies
/// and asks for it is refused, whatever the policies say.
Result<std::vector<std::string>> judge_submission(const state::Snapshot& state,
                                                  const access::Principal& who,
                                                  schema::Job::Reader job,
                                                  const SubmissionOptions& options);

}  // namespace nomad::cluster
