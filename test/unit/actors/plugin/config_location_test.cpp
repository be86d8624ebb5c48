#include "actors/plugin/config_location.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <doctest/doctest.h>

#include "actors/client/drivers/config_schema.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/sdk/config_check.hpp"
#include "schema/plugin_link.capnp.h"

namespace nomad::plugin {

namespace {

const ConfigLocations locations{
    {"", "a.hcl:1"}, {"interval", "a.hcl:2"}, {"limits", "a.hcl:3"}, {"limits.rate", "a.hcl:4"}};

std::string placed(std::string_view what) {
  const auto error = config_error(what, locations);
  return error ? location_error("stamp", *error, locations) : "about something else";
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
  CHECK_FALSE(config_error("interval: expected a duration", locations));
  CHECK_FALSE(config_error("its disk is full", locations));
}

namespace {

constexpr const char* configurations[] = {"not json",
                                          "",
                                          "[]",
                                          "{}",
                                          "7",
                                          R"({"url":"x"})",
                                          R"({"url":"x")",
                                          R"({"url":"x"}})",
                                          R"({"url":null})",
                                          R"({"url":7,"count":"8"})",
                                          R"({"url":true,"count":8.0})",
                                          R"({"url":"x","count":8.5})",
                                          R"({"url":"x","count":"8.5"})",
                                          R"({"url":"x","count":[1]})",
                                          R"({"url":"a\"b\\c\u00e9\nd"})",
                                          R"({"url":"x","wait":"1h30m"})",
                                          R"({"url":"x","wait":"1.5s"})",
                                          R"({"url":"x","wait":"-2ms"})",
                                          R"({"url":"x","wait":""})",
                                          R"({"url":"x","wait":"0"})",
                                          R"({"url":"x","wait":"soon"})",
                                          R"({"url":"x","wait":"5"})",
                                          R"({"url":"x","on":"true"})",
                                          R"({"url":"x","on":"0"})",
                                          R"({"url":"x","on":"yes"})",
                                          R"({"url":"x","names":["a",1,true]})",
                                          R"({"url":"x","names":"a"})",
                                          R"({"url":"x","names":[["a"]]})",
                                          R"({"url":"x","limits":{"rate":1}})",
                                          R"({"url":"x","limits":[{"rate":1}]})",
                                          R"({"url":"x","limits":{}})",
                                          R"({"url":"x","limits":{"rate":1,"burst":2}})",
                                          R"({"url":"x","limits":"a"})",
                                          R"({"url":"x","tags":[{"a":"b"},{"c":1,"a":"d"}]})",
                                          R"({"url":"x","tags":{"a":{}}})",
                                          R"({"url":"x","rules":[{"port":1},{}]})",
                                          R"({"url":"x","rules":{"port":"2"}})",
                                          R"({"url":"x","rules":["a"]})",
                                          R"({"url":"x","free":{"a":[1,"b",null,{"c":false}]}})",
                                          R"({"url":"x","ulr":"y"})"};

}  // namespace

TEST_CASE("config_check: plugins are tested with what an agent makes of a configuration") {
  const std::vector<ConfigField> fields{
      {.name = "url", .required = true},
      {.name = "wait", .kind = ConfigKind::DURATION},
      {.name = "count", .kind = ConfigKind::NUMBER},
      {.name = "on", .kind = ConfigKind::BOOLEAN},
      {.name = "names", .kind = ConfigKind::TEXTS},
      {.name = "limits",
       .kind = ConfigKind::BLOCK,
       .fields = {{.name = "rate", .kind = ConfigKind::NUMBER, .required = true}}},
      {.name = "tags", .kind = ConfigKind::MAP},
      {.name = "rules", .kind = ConfigKind::BLOCKS, .fields = {{.name = "port"}}},
      {.name = "free", .kind = ConfigKind::ANY}};
  Draft<schema::plugin::Declaration> draft;
  const std::function<void(capnp::List<schema::plugin::ConfigField>::Builder,
                           const std::vector<ConfigField>&)>
      declare = [&declare](auto to, const auto& from) {
        for (unsigned i = 0; i < to.size(); ++i) {
          to[i].setName(text(from[i].name));
          to[i].setKind(from[i].kind);
          to[i].setRequired(from[i].required);
          declare(to[i].initFields(static_cast<unsigned>(from[i].fields.size())), from[i].fields);
        }
      };
  declare(draft->initConfig(static_cast<unsigned>(fields.size())), fields);
  const auto agents = [&](const std::string& json) -> std::string {
    boost::json::error_code failure;
    const auto given = boost::json::parse(json, failure);
    if (failure) return "refused";
    const auto made = client::apply_fields(draft->asReader().getConfig(), given);
    return made ? boost::json::serialize(*made) : "refused";
  };
  for (const std::string json : configurations) {
    CAPTURE(json);
    const auto made = apply_config(fields, json);
    const auto kept = made ? boost::json::serialize(boost::json::parse(*made)) : "refused";
    CHECK(kept == agents(json));
  }
  CHECK(apply_config(fields, "{}").error().what == "missing required argument \"url\"");
  CHECK(apply_config(fields, R"({"url":"x","wait":5})").value() == R"({"url":"x","wait":5})");
}

}  // namespace nomad::plugin
