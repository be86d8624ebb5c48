// CheckResult: what is known of a check, as /v1/client/allocation/:id/checks shows it, and what
// becomes of it by a run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/workload/checks/service_check.hpp"

namespace nomad::workload {

enum class CheckStatus : std::uint8_t { pending, success, failure };

/// "pending", "success", "failure".
std::string_view to_string(CheckStatus status);

/// How one run of a check ended.
struct CheckOutcome {
  bool passed = false;
  bool is_warning = false;  ///< Of those that did not pass: a script that ended with 1.
  int status_code = 0;      ///< Of an HTTP answer, or a script's exit code; 0: none.
  std::string output;       ///< Any bytes, of any length.
};

struct CheckResult {
  CheckStatus status = CheckStatus::pending;
  bool is_warning = false;
  int status_code = 0;
  std::string output;          ///< UTF-8, at most `max_check_output` bytes.
  std::int64_t timestamp = 0;  ///< Unix seconds of the run's end; of the beginning while pending.

  friend bool operator==(const CheckResult&, const CheckResult&) = default;
};

/// As much of what a check says is kept.
inline constexpr std::size_t max_check_output = 3 * 1024;

/// Of a check that has not run yet.
CheckResult pending_result(std::int64_t unix_seconds);

CheckResult result_of(CheckOutcome outcome, std::int64_t unix_seconds);

/// Whether nothing that waits for the check has to wait longer: it passes, it is a readiness check
/// that has run, or it only warns and that is to be ignored.
bool counts_as_passing(const ServiceCheck& check, const CheckResult& result);

/// Where one of the checks that an allocation must have stands.
struct CheckStanding {
  enum class Kind : std::uint8_t {
    missing,  ///< Nobody runs it (yet).
    failing,  ///< Pending, or it fails.
    passing,
  };
  std::string task;  ///< Whose service it is of; "": of the group.
  std::string service;
  Kind kind = Kind::missing;
};

struct RunCheck {
  std::string id;
  CheckResult result;
};

/// What the job says has to be there, compared with what has run: a check that `run` lacks is
/// missing, and what the job does not know is left out.
std::vector<CheckStanding> standings_of(std::span<const ServiceCheck> wanted,
                                        std::span<const RunCheck> run);

}  // namespace nomad::workload
