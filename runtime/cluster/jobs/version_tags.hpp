// Tags of versions: names that people give to versions of a job, which are kept as long as they
// have one, as command for the log. Deciding code, as that of job_commands.hpp.
//
// May depend on: runtime/base, access, jobspec, object, state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/access/authorize.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

/// What a job may have of versions with a tag, each of which is kept besides the newest ones.
inline constexpr std::size_t most_tagged_versions = 1000;

struct TagRequest {
  std::string ns;
  std::string job_id;
  std::string name;
  std::string description = {};
  std::optional<std::uint64_t> version = {};  ///< Empty: the newest one.
};

struct TagDecision {
  access::Allowed allowed;
  Object<schema::Command> command = {};
  std::string job_id = {};
  Object<schema::JobVersionTag> tag = {};  ///< Null: it was taken away.
};

/// A version has one tag at most, the new one replaces it; a tag is of one version of the job.
/// Errors: not_found for a job or version that is not there, rejected for a name or description
/// that can't be, or is of another version.
Result<TagDecision> decide_tag_version(const state::Snapshot& snapshot,
                                       const access::Asking& asking,
                                       const TagRequest& request,
                                       const EvalSeed& seed);

/// The version may be forgotten from now on. Errors: not_found without such a tag.
Result<TagDecision> decide_untag_version(const state::Snapshot& snapshot,
                                         const access::Asking& asking,
                                         std::string_view ns,
                                         std::string_view job_id,
                                         std::string_view name);

}  // namespace nomad::cluster
