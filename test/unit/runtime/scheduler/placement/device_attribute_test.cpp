// runtime/scheduler/placement/device_attribute: what a text means, and what compares with what.
#include "runtime/scheduler/placement/device_attribute.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::scheduler;

namespace {

/// "<", "=", ">", or "?" where the two don't compare.
std::string relation(std::string_view a, std::string_view b) {
  const auto order = DeviceAttribute::compare(DeviceAttribute::parse(a), DeviceAttribute::parse(b));
  if (!order) return "?";
  if (*order == 0) return "=";
  return *order < 0 ? "<" : ">";
}

}  // namespace

TEST_CASE("device attributes: numbers compare as numbers, with a fraction or without") {
  CHECK(relation("9", "10") == "<");
  CHECK(relation("+10", "10") == "=");
  CHECK(relation("10", "9.5") == ">");
  CHECK(relation("-1.5", "-1.5") == "=");
  CHECK(relation("9223372036854775807", "9223372036854775806") == ">");
}

TEST_CASE("device attributes: units of one kind compare, others don't") {
  CHECK(relation("1024 MiB", "1GiB") == "=");
  CHECK(relation("1.5 GiB", "1536 MiB") == "=");
  CHECK(relation("1 GB", "1 GiB") == "<");
  CHECK(relation("1 kB", "1000 KB") == "<");
  CHECK(relation("1 MB/s", "1 MiB/s") == "<");
  CHECK(relation("1 MB/s", "1 MB") == "?");
  CHECK(relation("1 GHz", "1000 MHz") == "=");
  CHECK(relation("1500 mW", "1 W") == ">");
  CHECK(relation("1 MW", "1 kW") == ">");
  CHECK(relation("8 EiB", "1 GiB") == ">");
  CHECK(relation("1 GiB", "1") == "?");
  CHECK(relation("1", "1 GiB") == "?");
}

TEST_CASE("device attributes: what is no number is a truth value or a text") {
  CHECK(relation("true", "true") == "=");
  CHECK(relation("true", "false") == ">");
  CHECK(relation("false", "true") == ">");  // unequal
  CHECK(relation("true", "1") == "?");
  CHECK(relation("abc", "abd") == "<");
  CHECK(relation("abc", "1") == "?");
  CHECK(relation("GiB", "GiB") == "=");
  CHECK(relation("10 parsecs", "9 parsecs") == "<");  // texts
  CHECK(relation("", "") == "=");
}

TEST_CASE("device attributes: versions are texts or whole numbers") {
  CHECK(DeviceAttribute::parse("1.2.3").version() == "1.2.3");
  CHECK(DeviceAttribute::parse("12").version() == "12");
  CHECK_FALSE(DeviceAttribute::parse("1.2").version());
  CHECK_FALSE(DeviceAttribute::parse("true").version());
}

TEST_CASE("device attributes: those that a node tells are read by their kind") {
  Draft<schema::NodeDeviceGroup> group;
  group->setAttributes(R"({"a":{"Int":1,"Float":null,"Bool":null,"String":null,"Unit":"GiB"},)"
                       R"("b":{"Float":0.5},"c":{"Bool":false},"d":{"String":"x"},"e":{},"f":1})");
  const auto known = device_attributes(group.reader());
  REQUIRE(known.size() == 4);
  CHECK(DeviceAttribute::compare(known.at("a"), DeviceAttribute::parse("1024 MiB")) == 0);
  CHECK(DeviceAttribute::compare(known.at("b"), DeviceAttribute::parse("0.5")) == 0);
  CHECK(DeviceAttribute::compare(known.at("c"), DeviceAttribute::parse("false")) == 0);
  CHECK(DeviceAttribute::compare(known.at("d"), DeviceAttribute::parse("x")) == 0);
  group->setAttributes("no object");
  CHECK(device_attributes(group.reader()).empty());
  group->setAttributes("");
  CHECK(device_attributes(group.reader()).empty());
}

TEST_CASE(
    "device attributes: what a plugin has found is read from the node's row as it was meant") {
  Draft<schema::NodeDeviceGroup> group;
  std::string json = "{";
  for (const auto* value : {"11 GiB", "1.5", "true", "P100"})
    json += (json.size() > 1 ? "," : "") + ('"' + std::string{value} + "\":")
            + DeviceAttribute::parse(value).json();
  group->setAttributes(text(json + '}'));
  const auto found = device_attributes(group.reader());
  REQUIRE(found.size() == 4);
  for (const auto& [name, value] : found) {
    const auto& shown = name;
    CHECK_MESSAGE(DeviceAttribute::compare(value, DeviceAttribute::parse(name)) == 0, shown);
  }
  CHECK(DeviceAttribute::compare(found.at("11 GiB"), DeviceAttribute::parse("10 GiB")) > 0);
}
