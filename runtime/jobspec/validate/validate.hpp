// Whether a job means something: every rule that registration, plan and `POST /v1/validate/job`
// check, with Nomad's texts, all mistakes at once; and what of it this release does not carry out.
//
// Takes the server form (see canonicalize.hpp). What needs the cluster's state (node pool,
// namespace, ACL, the job's previous version) is checked where that state is, and may be given to
// stand in its place among the mistakes. Pure, one pass over
// the tree; a job without mistakes allocates next to nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/jobspec/draft_block.hpp"
#include "runtime/jobspec/validate/bounds.hpp"

namespace nomad::jobspec {

/// Of a job; the highest is the configuration's.
inline constexpr std::int64_t min_priority = 1;

struct ValidateOptions {
  std::int64_t max_priority = 100;
  /// Most allocations that the groups of a job may ask for together (`job_max_count`); 0 is no
  /// bound.
  std::int64_t max_count = 50'000;
  Bounds bounds{};
  /// Whether what would run wrongly without a part that this release lacks is only warned of: for
  /// operators who move jobs over in stages.
  bool allow_refused = false;
  /// Whether `memory_max` has an effect in the job's node pool.
  bool memory_oversubscription = false;
  /// Types that plugins schedule, beside the built-in ones. Nothing: it is not known which there
  /// are, and others are only warned of.
  std::optional<std::vector<std::string>> job_types = std::vector<std::string>{};
  /// Providers of services that plugins bring, likewise.
  std::optional<std::vector<std::string>> providers = std::vector<std::string>{};
  /// What the cluster's state has against the job, to be told among the rest.
  std::vector<std::string> state_errors{};
};

struct Validation {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;

  bool ok() const { return errors.empty(); }

  /// "1 error occurred:\n\t* …\n\n"; empty when there is none.
  std::string error_text() const;
  /// "1 warning:\n\n* …"; empty when there is none.
  std::string warning_text() const;
};

Validation validate(const DraftBlock& job, const ValidateOptions& options = {});

/// `errors` as Nomad joins several into one text.
std::string join_errors(const std::vector<std::string>& errors);

/// `warnings` as answers carry them.
std::string join_warnings(const std::vector<std::string>& warnings);

}  // namespace nomad::jobspec
