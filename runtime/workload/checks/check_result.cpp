#include "runtime/workload/checks/check_result.hpp"

#include <unordered_map>

#include "runtime/base/utf8.hpp"

namespace nomad::workload {
namespace {

/// What fits, with U+FFFD for bytes that are no UTF-8, as Go's JSON has it.
std::string cleaned_output(std::string_view raw) {
  std::string out;
  for (std::size_t at = 0; at < raw.size() && out.size() < max_check_output;) {
    const auto point = decode_utf8(raw, at);
    append_utf8(out, point.value);
    at += point.length;
  }
  return std::string{utf8_prefix(out, max_check_output)};
}

}  // namespace

std::string_view to_string(CheckStatus status) {
  switch (status) {
    case CheckStatus::pending:
      return "pending";
    case CheckStatus::success:
      return "success";
    case CheckStatus::failure:
      return "failure";
  }
  return "";
}

CheckResult pending_result(std::int64_t unix_seconds) {
  CheckResult result;
  result.output = "nomad: waiting to run";
  result.timestamp = unix_seconds;
  return result;
}

CheckResult result_of(CheckOutcome outcome, std::int64_t unix_seconds) {
  return {.status = outcome.passed ? CheckStatus::success : CheckStatus::failure,
          .is_warning = !outcome.passed && outcome.is_warning,
          .status_code = outcome.status_code,
          .output = cleaned_output(outcome.output),
          .timestamp = unix_seconds};
}

bool counts_as_passing(const ServiceCheck& check, const CheckResult& result) {
  if (result.status != CheckStatus::failure) return result.status == CheckStatus::success;
  return check.is_readiness || (check.ignores_warnings && result.is_warning);
}

std::vector<CheckStanding> standings_of(std::span<const ServiceCheck> wanted,
                                        std::span<const RunCheck> run) {
  using Kind = CheckStanding::Kind;
  std::unordered_map<std::string_view, const CheckResult*> by_id;
  for (const auto& each : run)
    by_id.emplace(each.id, &each.result);
  std::vector<CheckStanding> standings;
  standings.reserve(wanted.size());
  for (const auto& check : wanted) {
    const auto found = by_id.find(check.id);
    const auto kind = found == by_id.end()                       ? Kind::missing
                      : counts_as_passing(check, *found->second) ? Kind::passing
                                                                 : Kind::failing;
    standings.push_back({.task = check.restarts_task, .service = check.service, .kind = kind});
  }
  return standings;
}

}  // namespace nomad::workload
