#include "actors/plugin/config_location.hpp"

#include <doctest/doctest.h>

namespace nomad::plugin {

namespace {

const ConfigLocations places{
    {"", "a.hcl:1"}, {"interval", "a.hcl:2"}, {"limits", "a.hcl:3"}, {"limits.rate", "a.hcl:4"}};

std::string placed(std::string_view what) {
  const auto error = config_error(what, places);
  return error ? location_error("stamp", *error, places) : "about something else";
}

}  // namespace

TEST_CASE("config_location: a problem is told with the place of the field that it names") {
  CHECK(placed("failed to parse config: interval: expected a duration")
        == "a.hcl:2: plugin.stamp.config: interval: expected a duration");
  CHECK(placed("failed to parse config: limits.rate: expected a number")
        == "a.hcl:4: plugin.stamp.config: limits.rate: expected a number");
  CHECK(placed("failed to parse config: limits: missing \"limits.rate\"")
        == "a.hcl:4: plugin.stamp.config: limits: missing \"limits.rate\"");
}

TEST_CASE("config_location: what names no field has the place of the block, or none") {
  CHECK(placed("failed to parse config: no object") == "a.hcl:1: plugin.stamp.config: no object");
  CHECK(location_error("stamp", {.field = "", .problem = "no object"}, {})
        == "plugin.stamp.config: no object");
}

TEST_CASE("config_location: another failure is none of the configuration's fields") {
  CHECK_FALSE(config_error("interval: expected a duration", places));
  CHECK_FALSE(config_error("its disk is full", places));
}

}  // namespace nomad::plugin
