// What becomes of a check by a run.
#include "runtime/workload/checks/check_result.hpp"

#include <doctest/doctest.h>

#include "runtime/base/utf8.hpp"

using namespace nomad;
using namespace nomad::workload;

TEST_CASE("check_result: as the API shows it") {
  CHECK(to_string(CheckStatus::pending) == "pending");
  CHECK(to_string(CheckStatus::success) == "success");
  CHECK(to_string(CheckStatus::failure) == "failure");
  const auto pending = pending_result(77);
  CHECK(pending.status == CheckStatus::pending);
  CHECK(pending.output == "nomad: waiting to run");
  CHECK(pending.timestamp == 77);
  const auto passed = result_of({.passed = true, .status_code = 200, .output = "fine"}, 78);
  CHECK(passed
        == CheckResult{
            .status = CheckStatus::success, .status_code = 200, .output = "fine", .timestamp = 78});
}

TEST_CASE("check_result: output is cut to what is kept, without parting a character") {
  std::string euros;
  while (euros.size() < 2 * max_check_output)
    euros += "€";
  const auto result = result_of({.output = euros}, 1);
  CHECK(result.output.size() == max_check_output - max_check_output % 3);
  CHECK(is_valid_utf8(result.output));
  CHECK(result_of({.output = std::string(max_check_output, 'x')}, 1).output.size()
        == max_check_output);
}

TEST_CASE("check_result: output that is no UTF-8 is shown as if it were") {
  CHECK(result_of({.output = "a\xff"
                             "b\x80"},
                  1)
            .output
        == "a\uFFFDb\uFFFD");
  // Each byte becomes three, of which no more are kept.
  const auto result = result_of({.output = std::string(max_check_output, '\xff')}, 1);
  CHECK(result.output.size() == max_check_output);
  CHECK(is_valid_utf8(result.output));
}

TEST_CASE("check_result: what counts as passing") {
  const CheckResult fails = result_of({.output = ""}, 1);
  const CheckResult warns = result_of({.is_warning = true, .output = ""}, 1);
  const CheckResult passes = result_of({.passed = true, .output = ""}, 1);
  ServiceCheck check;
  CHECK(counts_as_passing(check, passes));
  CHECK_FALSE(counts_as_passing(check, fails));
  CHECK_FALSE(counts_as_passing(check, warns));
  CHECK_FALSE(counts_as_passing(check, pending_result(1)));
  check.ignores_warnings = true;
  CHECK(counts_as_passing(check, warns));
  CHECK_FALSE(counts_as_passing(check, fails));
  check = {};
  check.is_readiness = true;
  CHECK(counts_as_passing(check, fails));
  CHECK_FALSE(counts_as_passing(check, pending_result(1)));  // it has not even run
}

TEST_CASE("check_result: the job says which checks there have to be") {
  std::vector<ServiceCheck> wanted(3);
  wanted[0].id = "a";
  wanted[0].service = "web";
  wanted[1].id = "b";
  wanted[1].restarts_task = "db";
  wanted[2].id = "c";
  const std::vector<RunCheck> run{{"b", result_of({.passed = true, .output = ""}, 1)},
                                  {"stranger", pending_result(1)},
                                  {"a", pending_result(1)}};
  const auto standings = standings_of(wanted, run);
  using Kind = CheckStanding::Kind;
  REQUIRE(standings.size() == 3);
  CHECK(standings[0].kind == Kind::failing);
  CHECK(standings[0].service == "web");
  CHECK(standings[1].kind == Kind::passing);
  CHECK(standings[1].task == "db");
  CHECK(standings[2].kind == Kind::missing);
}
