// Schedules of tasks: when they run, and what is refused.
#include "runtime/jobspec/cron/task_schedule.hpp"

#include <string>

#include <doctest/doctest.h>

#include "runtime/base/duration.hpp"

using nomad::jobspec::TaskSchedule;
using nomad::jobspec::UnixSeconds;

namespace {

UnixSeconds seconds(std::string_view time) {
  return nomad::parse_rfc3339(time).value() / 1'000'000'000;
}

/// "runs until <time>", in UTC.
std::string at(const TaskSchedule& schedule, std::string_view time) {
  const auto moment = schedule.at(seconds(time));
  return std::string{moment.runs ? "runs" : "paused"} + " until "
         + (moment.until ? nomad::format_rfc3339(*moment.until * 1'000'000'000) : "never");
}

TaskSchedule parse(std::string_view start, std::string_view end, std::string_view zone = "UTC") {
  return TaskSchedule::parse(start, end, zone).value();
}

std::string refusal(std::string_view start, std::string_view end, std::string_view zone = "UTC") {
  const auto parsed = TaskSchedule::parse(start, end, zone);
  return parsed ? "accepted" : parsed.error().what;
}

}  // namespace

TEST_CASE("task_schedule: from the second of a start up to that of its end") {
  const auto daily = parse("0 9 * * * *", "0 16");
  CHECK(at(daily, "2026-05-04T08:59:59Z") == "paused until 2026-05-04T09:00:00Z");
  CHECK(at(daily, "2026-05-04T09:00:00Z") == "runs until 2026-05-04T16:00:00Z");
  CHECK(at(daily, "2026-05-04T15:59:59Z") == "runs until 2026-05-04T16:00:00Z");
  CHECK(at(daily, "2026-05-04T16:00:00Z") == "paused until 2026-05-05T09:00:00Z");
  CHECK(at(daily, "2026-05-31T17:00:00Z") == "paused until 2026-06-01T09:00:00Z");
}

TEST_CASE("task_schedule: days, months and years are those of the start") {
  const auto trading = parse("30 9 * * MON-FRI *", "0 16", "America/New_York");
  CHECK(at(trading, "2024-07-01T12:00:00Z") == "paused until 2024-07-01T13:30:00Z");
  CHECK(at(trading, "2024-07-01T14:00:00Z") == "runs until 2024-07-01T20:00:00Z");
  CHECK(at(trading, "2024-07-06T14:00:00Z") == "paused until 2024-07-08T13:30:00Z");
  const auto once = parse("0 9 24 12 * 2026", "0 12");
  CHECK(at(once, "2026-12-24T10:00:00Z") == "runs until 2026-12-24T12:00:00Z");
  CHECK(at(once, "2026-12-24T12:00:00Z") == "paused until never");
}

TEST_CASE("task_schedule: several starts of a day have the end that follows each") {
  const auto hourly = parse("0 * * * * *", "30 *");
  CHECK(at(hourly, "2026-05-04T08:29:59Z") == "runs until 2026-05-04T08:30:00Z");
  CHECK(at(hourly, "2026-05-04T08:30:00Z") == "paused until 2026-05-04T09:00:00Z");
  const auto shared = parse("0 9-11 * * * *", "0 16");
  CHECK(at(shared, "2026-05-04T10:30:00Z") == "runs until 2026-05-04T16:00:00Z");
}

TEST_CASE("task_schedule: on a day when clocks change, hours are those that people read") {
  const auto zurich = parse("0 1 * * * *", "0 23", "Europe/Zurich");
  CHECK(at(zurich, "2026-10-25T21:30:00Z") == "runs until 2026-10-25T22:00:00Z");
  CHECK(at(zurich, "2026-10-25T22:00:00Z") == "paused until 2026-10-26T00:00:00Z");
  CHECK(at(zurich, "2026-03-29T20:30:00Z") == "runs until 2026-03-29T21:00:00Z");
}

TEST_CASE("task_schedule: mistakes are told in Nomad's words") {
  CHECK(refusal("0 9 * * *", "0 16") == "cron.start must contain 6 fields");
  CHECK(refusal("", "0 16") == "cron.start must contain 6 fields");
  CHECK(refusal("0 9 * * * *", "0 16 *") == "cron.end must contain 2 fields");
  CHECK(refusal("0,30 9 * * * *", "0 16") == R"(cron.start must not contain "/,")");
  CHECK(refusal("0 9 * * * *", "*/5 16") == R"(cron.end must not contain "/,")");
  CHECK(refusal("0 9 * * * *", "0 16", "Mars/Base")
        == "invalid timezone in schedule: unknown time zone Mars/Base");
  CHECK(refusal("61 9 * * * *", "0 16")
        == R"(invalid start time in schedule: "61 9 * * * *"; syntax error in minute field: '61')");
  CHECK(refusal("0 9 * * * *", "0 24")
        == R"(invalid end time in schedule: "0 24"; syntax error in hour field: '24')");
  CHECK(refusal("0 9 30 2 * *", "0 16")
        == R"(invalid start time in schedule: "0 9 30 2 * *"; it never comes)");
  for (const auto* end : {"0 6", "0 22"})
    CHECK(refusal("0 22 * * * *", end)
          == "end cannot be sooner than start; end=\"" + std::string{end}
                 + "\", start=\"0 22 * * * *\"");
  CHECK(refusal("0 9-17 * * * *", "0 12").starts_with("end cannot be sooner than start"));
  CHECK(refusal("0 9 * * * *", "0 16", "") == "accepted");
}
