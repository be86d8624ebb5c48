// When failing checks have tasks restarted.
#include "runtime/workload/checks/check_restart.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace nomad::workload;

namespace {

const CheckResult fails{.status = CheckStatus::failure, .output = "", .timestamp = 1};
const CheckResult passes{.status = CheckStatus::success, .output = "", .timestamp = 1};
const CheckResult warns{
    .status = CheckStatus::failure, .is_warning = true, .output = "", .timestamp = 1};

}  // namespace

TEST_CASE("check_restart: with the limit's failure in a row, and not before") {
  CheckRestart restart{{.limit = 3, .grace = 0s}, 10s, 0s};
  CHECK_FALSE(restart.note(fails, 5s));
  CHECK_FALSE(restart.note(fails, 15s));
  CHECK_FALSE(restart.note(passes, 25s));
  CHECK_FALSE(restart.note(fails, 35s));
  CHECK_FALSE(restart.note(fails, 45s));
  CHECK(restart.note(fails, 55s));
}

TEST_CASE("check_restart: runs that begin a little late or early still count as one each") {
  CheckRestart restart{{.limit = 3, .grace = 0s}, 10s, 0s};
  CHECK_FALSE(restart.note(fails, 5s + 20ms));
  CHECK_FALSE(restart.note(fails, 15s + 1ms));
  CHECK(restart.note(fails, 25s + 1ms));
}

TEST_CASE("check_restart: a limit of one restarts with the first failure, none never") {
  CheckRestart one{{.limit = 1, .grace = 0s}, 10s, 0s};
  CHECK_FALSE(one.note(passes, 1s));
  CHECK(one.note(fails, 11s));
  CheckRestart none{{}, 10s, 0s};
  for (int run = 0; run < 100; ++run)
    CHECK_FALSE(none.note(fails, run * 10s));
  CheckRestart endless{{.limit = INT64_MAX, .grace = 0s}, 10s, 0s};
  CHECK_FALSE(endless.note(fails, 10s));
  CHECK_FALSE(endless.note(fails, 24h * 365 * 100));
}

TEST_CASE("check_restart: a check that hangs does not have `limit` timeouts") {
  CheckRestart restart{{.limit = 3, .grace = 0s}, 10s, 0s};
  CHECK_FALSE(restart.note(fails, 5s));  // each took 30 s
  CHECK(restart.note(fails, 35s));
}

TEST_CASE("check_restart: what begins within the grace says nothing, nor does who has not run") {
  CheckRestart restart{{.limit = 1, .grace = 30s}, 10s, 100s};
  CHECK_FALSE(restart.note(fails, 100s));
  CHECK_FALSE(restart.note(fails, 130s - 1ns));
  CHECK_FALSE(restart.note(pending_result(1), 150s));
  CHECK(restart.note(fails, 130s));
}

TEST_CASE("check_restart: warnings count unless they are to be ignored") {
  CheckRestart counts{{.limit = 1, .grace = 0s}, 10s, 0s};
  CHECK(counts.note(warns, 1s));
  CheckRestart ignores{{.limit = 2, .grace = 0s, .ignore_warnings = true}, 10s, 0s};
  CHECK_FALSE(ignores.note(fails, 1s));
  CHECK_FALSE(ignores.note(warns, 11s));  // which ends the row
  CHECK_FALSE(ignores.note(fails, 21s));
  CHECK(ignores.note(fails, 31s));
}

TEST_CASE("check_restart: any number of restarts, each after a grace of its own") {
  CheckRestart restart{{.limit = 2, .grace = 10s}, 1s, 0s};
  for (int round = 0; round < 5; ++round) {
    const auto begin = round * 100s;
    restart.start_over(begin);
    CHECK_FALSE(restart.note(fails, begin + 9s));
    CHECK_FALSE(restart.note(fails, begin + 10s));
    CHECK(restart.note(fails, begin + 11s));
  }
}
