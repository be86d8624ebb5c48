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

/// Of a task that started at `since`.
CheckRestart restarter(CheckRestartRules rules,
                       nomad::Nanoseconds interval,
                       nomad::Nanoseconds since) {
  CheckRestart restart{rules, interval};
  restart.started(since);
  return restart;
}

}  // namespace

TEST_CASE("check_restart: with the limit's failure in a row, and not before") {
  auto restart = restarter({.limit = 3, .grace = 0s}, 10s, 0s);
  CHECK_FALSE(restart.note(fails, 5s));
  CHECK_FALSE(restart.note(fails, 15s));
  CHECK_FALSE(restart.note(passes, 25s));
  CHECK_FALSE(restart.note(fails, 35s));
  CHECK_FALSE(restart.note(fails, 45s));
  CHECK(restart.note(fails, 55s));
}

TEST_CASE("check_restart: runs that begin a little late or early still count as one each") {
  auto restart = restarter({.limit = 3, .grace = 0s}, 10s, 0s);
  CHECK_FALSE(restart.note(fails, 5s + 20ms));
  CHECK_FALSE(restart.note(fails, 15s + 1ms));
  CHECK(restart.note(fails, 25s + 1ms));
}

TEST_CASE("check_restart: a limit of one restarts with the first failure, none never") {
  auto one = restarter({.limit = 1, .grace = 0s}, 10s, 0s);
  CHECK_FALSE(one.note(passes, 1s));
  CHECK(one.note(fails, 11s));
  auto none = restarter({}, 10s, 0s);
  for (int run = 0; run < 100; ++run)
    CHECK_FALSE(none.note(fails, run * 10s));
  auto endless = restarter({.limit = INT64_MAX, .grace = 0s}, 10s, 0s);
  CHECK_FALSE(endless.note(fails, 10s));
  CHECK_FALSE(endless.note(fails, 24h * 365 * 100));
}

TEST_CASE("check_restart: a check that hangs does not have `limit` timeouts") {
  auto restart = restarter({.limit = 3, .grace = 0s}, 10s, 0s);
  CHECK_FALSE(restart.note(fails, 5s));  // each took 30 s
  CHECK(restart.note(fails, 35s));
}

TEST_CASE("check_restart: what begins within the grace says nothing, nor does who has not run") {
  auto restart = restarter({.limit = 1, .grace = 30s}, 10s, 100s);
  CHECK_FALSE(restart.note(fails, 100s));
  CHECK_FALSE(restart.note(fails, 130s - 1ns));
  CHECK_FALSE(restart.note(pending_result(1), 150s));
  CHECK(restart.note(fails, 130s));
}

TEST_CASE("check_restart: warnings count unless they are to be ignored") {
  auto counts = restarter({.limit = 1, .grace = 0s}, 10s, 0s);
  CHECK(counts.note(warns, 1s));
  auto ignores = restarter({.limit = 2, .grace = 0s, .ignore_warnings = true}, 10s, 0s);
  CHECK_FALSE(ignores.note(fails, 1s));
  CHECK_FALSE(ignores.note(warns, 11s));  // which ends the row
  CHECK_FALSE(ignores.note(fails, 21s));
  CHECK(ignores.note(fails, 31s));
}

TEST_CASE("check_restart: any number of restarts, each after a grace of its own") {
  auto restart = restarter({.limit = 2, .grace = 10s}, 1s, 0s);
  for (int round = 0; round < 5; ++round) {
    const auto begin = round * 100s;
    restart.started(begin);
    CHECK_FALSE(restart.note(fails, begin + 9s));
    CHECK_FALSE(restart.note(fails, begin + 10s));
    CHECK(restart.note(fails, begin + 11s));
  }
}

TEST_CASE("check_restart: the grace begins with the start, not with the wish") {
  CheckRestart restart{{.limit = 1, .grace = 5s}, 1s};
  CHECK_FALSE(restart.note(fails, 60s));  // nothing has started
  restart.started(100s);
  CHECK_FALSE(restart.note(fails, 99s));  // of before
  CHECK_FALSE(restart.note(fails, 104s));
  CHECK(restart.note(fails, 105s));
  restart.start_over();
  for (int second = 106; second < 130; ++second)  // the delay of the restart, prestart work
    CHECK_FALSE(restart.note(fails, second * 1s));
  restart.started(130s);
  CHECK_FALSE(restart.note(fails, 134s));
  restart.started(134s);  // it crashed by itself
  CHECK_FALSE(restart.note(fails, 138s));
  CHECK(restart.note(fails, 139s));
}
