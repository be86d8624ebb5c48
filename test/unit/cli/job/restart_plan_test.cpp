#include "cli/job/restart_plan.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cli;
using namespace std::chrono_literals;

namespace {

std::string size_error(const std::string& text) {
  const auto size = parse_batch_size(text);
  return size ? "" : size.error().what;
}

std::string reason(const char* alloc, const RestartScope& scope = {}) {
  static const auto versions = boost::json::parse(
      R"([{"Version":3,"TaskGroups":[{"Name":"web","Tasks":[{"Name":"server"}]}]}])");
  const auto value = boost::json::parse(alloc);
  return skip_reason(View{value}, View{versions}, scope,
                     [](const std::string& id) { return id.substr(0, 2); });
}

}  // namespace

TEST_CASE("job restart: batches are a number or a part, rounded up") {
  CHECK(parse_batch_size("3")->of(10) == 3);
  CHECK(parse_batch_size("25%")->of(10) == 3);
  CHECK(parse_batch_size("1%")->of(10) == 1);
  CHECK(parse_batch_size("100%")->of(7) == 7);
  for (const auto* text : {"", "x", "-1", "1.5", "%", "5%%", " 1"})
    CHECK(size_error(text)
          == "Invalid -batch-size value \"" + std::string{text}
                 + "\": batch size must be an integer or a percentage");
  CHECK(size_error("0")
        == "Invalid -batch-size value \"0\": number value must be greater than zero");
  CHECK(size_error("0%").starts_with("Invalid -batch-size value \"0%\""));
}

TEST_CASE("job restart: it asks only where somebody can answer") {
  CHECK(parse_batch_wait("10s", false)->time == 10s);
  CHECK(parse_batch_wait("ASK", true)->asks);
  CHECK(parse_batch_wait("ask", false).error().what
        == "Invalid -batch-wait value \"ask\": \"ask\" cannot be used when terminal is not "
           "interactive");
  CHECK(parse_batch_wait("soon", true)
            .error()
            .what.starts_with("Invalid -batch-wait value \"soon\": "));
  CHECK(parse_on_error("ask", true).value());
  CHECK_FALSE(parse_on_error("fail", false).value());
  CHECK(parse_on_error("ask", false).error().what.ends_with("terminal is not interactive"));
  CHECK(parse_on_error("x", true).error().what
        == "Invalid -on-error value \"x\": valid options are \"ask\" and \"fail\"");
}

TEST_CASE("job restart: answers are yes, no, or a time where one was asked for") {
  CHECK(parse_proceed("", true, false)->goes_on);
  CHECK_FALSE(parse_proceed("", false, false)->goes_on);
  CHECK(parse_proceed("Yes", false, false)->goes_on);
  CHECK_FALSE(parse_proceed("n", true, false)->goes_on);
  const auto wait = parse_proceed("1m", false, true);
  CHECK(wait->goes_on);
  CHECK(wait->sets_wait);
  CHECK(wait->wait == 1min);
  CHECK(parse_proceed("1m", false, false).error().what == "Invalid answer \"1m\"");
  CHECK(parse_proceed("x", false, true).error().what == "Invalid answer \"x\"");
}

TEST_CASE("job restart: what does not run, was replaced or is not asked for is left alone") {
  const auto* running = R"({"ClientStatus":"running","DesiredStatus":"run","TaskGroup":"web",
                            "JobVersion":3,"TaskStates":{"log":{}}})";
  CHECK(reason(running).empty());
  CHECK(reason(R"({"ClientStatus":"pending","DesiredStatus":"run"})").empty());
  CHECK(reason(R"({"ClientStatus":"complete","DesiredStatus":"stop"})")
        == "desired status is \"stop\" and client status is \"complete\"");
  CHECK(reason(R"({"ClientStatus":"running","DesiredStatus":"run","NextAllocation":"abcd"})")
        == "it has already been replaced by \"ab\"");
  CHECK(reason(running, {.groups = {"db", "web"}}).empty());
  CHECK(reason(running, {.groups = {"db"}}) == "it doesn't have any of requested groups");
  CHECK(reason(running, {.tasks = {"log"}}).empty());
  CHECK(reason(running, {.tasks = {"x", "server"}}).empty());  // by the job's version
  CHECK(reason(running, {.tasks = {"x"}}) == "it doesn't have any of requested tasks");
}

TEST_CASE("job restart: batches are counted as people do") {
  CHECK(ordinal(1) == "1st");
  CHECK(ordinal(2) == "2nd");
  CHECK(ordinal(3) == "3rd");
  CHECK(ordinal(4) == "4th");
  CHECK(ordinal(11) == "11th");
  CHECK(ordinal(12) == "12th");
  CHECK(ordinal(113) == "113th");
  CHECK(ordinal(21) == "21st");
}
