// Job commands: from what a caller asks of a job to the command that goes into the log, judged
// against a snapshot. Deciding code: time and randomness are in the seed.
//
// What a command's own conditions can judge when it is applied (EnforceIndex) is left to that.
// Whether the caller may have it is judged here, of the namespace of what was found or is brought.
// May depend on: runtime/base, access, object, state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/access/authorize.hpp"
#include "runtime/cluster/admission/admission_rules.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

/// A command and what its answer names. `command` is empty when there is nothing to write.
struct Decision {
  access::Allowed allowed;
  Object<schema::Command> command = {};
  std::string eval_id = {};
  std::string job_id = {};
  std::uint64_t job_modify_index = 0;  ///< Of the stored job, when the command leaves it as it is.
  std::vector<std::string> warnings = {};
};

/// Commands to be written in order; none when there is nothing to write.
struct Decisions {
  access::Allowed allowed;
  std::vector<Object<schema::Command>> commands = {};
};

struct RegisterRequest {
  Object<schema::Job> job;
  bool enforce_index = false;
  std::uint64_t job_modify_index = 0;
  bool preserve_counts = false;
  bool preserve_resources = false;  ///< Tasks that the stored job has, too, keep theirs.
  std::int64_t eval_priority = 0;
  bool policy_override = false;       ///< As SubmissionOptions has it (admission.hpp).
  ReadAdmission read_admission = {};  ///< The same.
};

/// An unchanged specification makes an evaluation and no new version. Refuses what an update cannot
/// change: the type, being periodic or parameterized.
Result<Decision> decide_register(const state::Snapshot& snapshot,
                                 const access::Asking& asking,
                                 const RegisterRequest& request,
                                 const EvalSeed& seed);

/// A job nobody knows is deregistered without a command.
Result<Decision> decide_deregister(const state::Snapshot& snapshot,
                                   const access::Asking& asking,
                                   std::string_view ns,
                                   std::string_view job_id,
                                   bool purge,
                                   std::int64_t eval_priority,
                                   const EvalSeed& seed);

/// The transitions that have a job's running allocations end without their shutdown delays. To be
/// written before the job is deregistered.
Result<Decision> decide_skip_delays(const state::Snapshot& snapshot,
                                    const access::Asking& asking,
                                    std::string_view ns,
                                    std::string_view job_id);

/// `force_reschedule`: failed allocations are placed anew without the delay of their group's
/// policy; those of groups that place nothing anew stay.
Result<Decision> decide_evaluate(const state::Snapshot& snapshot,
                                 const access::Asking& asking,
                                 std::string_view ns,
                                 std::string_view job_id,
                                 bool force_reschedule,
                                 const EvalSeed& seed);

/// `max_count`: most allocations that the job's groups may ask for together; 0: no limit.
Result<Decision> decide_revert(const state::Snapshot& snapshot,
                               const access::Asking& asking,
                               std::string_view ns,
                               std::string_view job_id,
                               std::uint64_t version,
                               std::optional<std::uint64_t> enforce_prior_version,
                               std::int64_t max_count,
                               const EvalSeed& seed,
                               const ReadAdmission& read_admission = {});

struct DispatchRequest {
  std::string ns;
  std::string job_id;
  std::string payload;
  std::vector<std::pair<std::string, std::string>> meta;
  std::string idempotency_token;
  std::string id_prefix;
  std::int64_t priority = 0;  ///< Of the child; 0: the parent's.
};

Result<Decision> decide_dispatch(const state::Snapshot& snapshot,
                                 const access::Asking& asking,
                                 const DispatchRequest& request,
                                 const EvalSeed& seed);

/// A child of a periodic job, launched now. The job must be one that is launched by its schedule. A
/// second launch within a second is the first one: no command, and the ids of the child and its
/// evaluation.
Result<Decision> decide_periodic_launch(const state::Snapshot& snapshot,
                                        const access::Asking& asking,
                                        std::string_view ns,
                                        std::string_view job_id,
                                        const EvalSeed& seed);

/// The same launch for servers that can't note its time yet: they are being upgraded.
Object<schema::Command> launch_without_record(const Object<schema::Command>& launch);

Result<Decision> decide_alloc_stop(const state::Snapshot& snapshot,
                                   const access::Asking& asking,
                                   std::string_view alloc_id,
                                   bool no_shutdown_delay,
                                   const EvalSeed& seed);

Result<Decision> decide_stability(const state::Snapshot& snapshot,
                                  const access::Asking& asking,
                                  std::string_view ns,
                                  std::string_view job_id,
                                  std::uint64_t version,
                                  bool stable);

/// Works the summaries of all jobs out anew from their allocations and children. An entry is for
/// jobs with a bounded number of these, or for one.
Result<Decisions> decide_reconcile_summaries(const state::Snapshot& snapshot,
                                             const access::Asking& asking);

/// The registration of `job` as a version of its own, with an evaluation unless it is a parent.
Decision register_version(const access::Allowed& allowed,
                          schema::Job::Reader job,
                          schema::EvalTrigger trigger,
                          std::int64_t eval_priority,
                          const EvalSeed& seed);

/// Whether operators let jobs in at present, as they always do from who has a management token.
/// Errors: permission_denied.
Result<> check_registration_open(const state::Snapshot& snapshot, const access::Principal& who);

/// A version that is brought back, or a group that is scaled up, must keep to the bound of the
/// present, as registrations do (`jobspec::validate`).
Result<> check_count(schema::Job::Reader job, std::int64_t max_count);

/// Whether both mean the same (`object::same_meaning`), but for what the schema calls bookkeeping:
/// status, version, indexes and times.
bool same_specification(schema::Job::Reader a, schema::Job::Reader b);

}  // namespace nomad::cluster
