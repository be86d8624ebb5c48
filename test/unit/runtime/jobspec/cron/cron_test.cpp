// Cron expressions: fields, next instants, zones.
#include "runtime/jobspec/cron/cron.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "test/unit/runtime/jobspec/cases.hpp"

using nomad::TimeZone;
using nomad::jobspec::CronExpression;
using nomad::jobspec::load_json;
using nomad::jobspec::next_launch;
using nomad::jobspec::UnixSeconds;

namespace {

constexpr UnixSeconds noon = 1'767'268'800;  // 2026-01-01T12:00:00Z, a Thursday

std::optional<UnixSeconds> next(std::string_view spec, UnixSeconds from = noon) {
  const auto cron = CronExpression::parse(spec);
  REQUIRE_FALSE(cron.has_error());
  return cron->next(from, TimeZone{});
}

}  // namespace

TEST_CASE("the table of expressions") {
  const boost::json::value table = load_json("cron.json");
  int checked = 0;
  for (const auto& row : table.as_array()) {
    const std::string spec{row.at("spec").as_string()};
    CAPTURE(spec);
    const auto cron = CronExpression::parse(spec);
    if (const auto* error = row.as_object().if_contains("error")) {
      REQUIRE(cron.has_error());
      CHECK("failed parsing cron expression: " + spec + ": " + cron.error().what
            == std::string_view{error->as_string()});
    } else {
      REQUIRE_FALSE(cron.has_error());
      const std::string zone_name{row.at("zone").as_string()};
      const UnixSeconds from = row.at("from").as_int64();
      CAPTURE(zone_name);
      CAPTURE(from);
      const auto zone = TimeZone::find(zone_name);
      REQUIRE_FALSE(zone.has_error());
      const auto due = cron->next(from, *zone);
      if (row.at("next").is_null())
        CHECK_FALSE(due.has_value());
      else
        CHECK(due == row.at("next").as_int64());
    }
    ++checked;
  }
  CHECK(checked > 300);
}

TEST_CASE("the next instant is later than the given one") {
  CHECK(next("* * * * *") == noon + 60);
  CHECK(next("* * * * *", noon - 1) == noon);
  CHECK(next("* * * * * * *") == noon + 1);
  CHECK(next("0 12 * * *") == noon + 86400);
}

TEST_CASE("days of week: 0 and 7 are Sunday; with days of month either suffices") {
  constexpr UnixSeconds sunday = 1'767'484'800;  // 2026-01-04
  CHECK(next("0 0 * * 0") == sunday);
  CHECK(next("0 0 * * 7") == sunday);
  CHECK(next("0 0 * * sun") == sunday);
  CHECK(next("0 0 3 * 0") == sunday - 86400);
  CHECK(next("0 0 20 * 0") == sunday);
}

TEST_CASE("a time that never comes") {
  CHECK_FALSE(next("0 0 30 2 *").has_value());
  CHECK_FALSE(next("0 0 1 1 * 2000").has_value());
}

TEST_CASE("zones") {
  CHECK(TimeZone::find("")->is_utc());
  CHECK(TimeZone::find("UTC")->is_utc());
  const auto unknown = TimeZone::find("Mars/Base");
  REQUIRE(unknown.has_error());
  CHECK(unknown.error().what == "unknown time zone Mars/Base");
  CHECK(TimeZone::find("../../etc/passwd").error().what == "time: invalid location name");

  const auto berlin = TimeZone::find("Europe/Berlin");
  REQUIRE_FALSE(berlin.has_error());
  CHECK(berlin->offset_at(noon) == 3600);
  CHECK(berlin->offset_at(noon + 180 * 86400) == 7200);
  CHECK(berlin->instant_of(noon + 3600) == noon);
}

TEST_CASE("a job's next launch is the earliest of its specs") {
  const auto launch = [](std::string_view text) {
    boost::json::object periodic = boost::json::parse(text).as_object();
    periodic["SpecType"] = "cron";
    return next_launch(periodic, noon);
  };
  CHECK(*launch(R"({"Specs": ["0 15 * * *", "0 13 * * *"]})") == noon + 3600);
  CHECK(*launch(R"({"Spec": "0 14 * * *"})") == noon + 7200);
  CHECK(*launch(R"({"Spec": "0 14 * * *", "TimeZone": "Europe/Berlin"})") == noon + 3600);
  CHECK_FALSE(launch(R"({"Specs": ["0 0 30 2 *"]})")->has_value());
  CHECK_FALSE(launch("{}")->has_value());
  CHECK(launch(R"({"Specs": ["bad"]})").has_error());
}
