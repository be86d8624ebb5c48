#include "runtime/plugin/bridge/config_spec.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>
#include <google/protobuf/text_format.h>

#include "runtime/plugin/bridge/values.hpp"

using namespace nomad;
using plugin::ConfigKind;
using plugin::bridge::ConfigSpec;

namespace {

plugin::bridge::hclspec::Spec spec_of(const std::string& text) {
  plugin::bridge::hclspec::Spec spec;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &spec));
  return spec;
}

std::string part(const std::string& name, const std::string& spec) {
  return "attributes { key: \"" + name + "\" value { " + spec + " } } ";
}

std::string attr(const std::string& name, const std::string& type, bool required = false) {
  return part(name, "Attr { name: \"" + name + "\" type: \"" + type + "\""
                        + (required ? " required: true }" : " }"));
}

ConfigSpec read(const std::string& parts) {
  auto spec = ConfigSpec::read("x", spec_of("object { " + parts + " }"));
  REQUIRE_MESSAGE(spec, spec.error().what);
  return *spec;
}

std::string refused(const std::string& spec) {
  const auto read = ConfigSpec::read("x", spec_of(spec));
  return read ? "" : read.error().what;
}

/// What is made of it, as HCL values are equal.
bool makes(const ConfigSpec& spec, std::string_view config, std::string_view expected) {
  const auto made = spec.decode(boost::json::parse(config).as_object());
  if (!made) MESSAGE(made.error().what);
  return made
         && plugin::bridge::to_msgpack(*made)
                == plugin::bridge::to_msgpack(
                    plugin::bridge::value_of(boost::json::parse(expected)));
}

std::string problem(const ConfigSpec& spec, std::string_view config) {
  const auto made = spec.decode(boost::json::parse(config).as_object());
  return made ? "" : made.error().what;
}

std::map<std::string, std::pair<ConfigKind, bool>> fields(const ConfigSpec& spec) {
  std::map<std::string, std::pair<ConfigKind, bool>> all;
  for (const auto& field : spec.fields())
    all[field.name] = {field.kind, field.required};
  return all;
}

}  // namespace

TEST_CASE("config spec: values of each type, and what is not there is null") {
  const auto spec = read(attr("t", "string", true) + attr("n", "number") + attr("b", "bool")
                         + attr("l", "list(string)") + attr("m", "map(string)")
                         + attr("lm", "list(map(number))") + attr("a", "any"));
  CHECK(fields(spec)
        == std::map<std::string, std::pair<ConfigKind, bool>>{{"t", {ConfigKind::TEXT, true}},
                                                              {"n", {ConfigKind::ANY, false}},
                                                              {"b", {ConfigKind::BOOLEAN, false}},
                                                              {"l", {ConfigKind::TEXTS, false}},
                                                              {"m", {ConfigKind::MAP, false}},
                                                              {"lm", {ConfigKind::ANY, false}},
                                                              {"a", {ConfigKind::ANY, false}}});
  CHECK(makes(
      spec,
      R"({"t":5,"n":"1.5","b":"true","l":["x",1],"m":{"k":true},"lm":[{"p":"80"}],"a":[1,"x"]})",
      R"({"t":"5","n":1.5,"b":true,"l":["x","1"],"m":{"k":"true"},"lm":[{"p":80}],"a":[1,"x"]})"));
  CHECK(makes(spec, R"({"t":"x","lm":{"p":80}})",
              R"({"t":"x","n":null,"b":null,"l":null,"m":null,"lm":[{"p":80}],"a":null})"));
  CHECK(problem(spec, "{}") == "failed to parse config: missing required argument \"t\"");
  CHECK(problem(spec, R"({"t":"x","n":"many"})").find("failed to parse config: n: ") == 0);
  CHECK(problem(spec, R"({"t":"x","lm":[{"p":"x"}]})").find("lm[0]") != std::string::npos);
}

TEST_CASE("config spec: defaults, with literals of HCL") {
  const auto spec = read(
      part(
          "flag",
          R"(default { primary { Attr { name: "flag" type: "bool" required: true } } default { literal { value: "false" } } })")
      + part(
          "gc",
          R"(default { primary { block_value { name: "gc" nested { object { attributes { key: "image" value { default {
           primary { Attr { name: "image" type: "bool" } } default { literal { value: "true" } } } } } } } } }
           default { literal { value: "{ image = true, delay = \"3m\" }" } } })"));
  CHECK(fields(spec).at("flag") == std::pair{ConfigKind::BOOLEAN, false});
  CHECK(problem(spec, R"({"flag":true,"gc":3})").find("gc: expected a block") != std::string::npos);
  CHECK(makes(spec, R"({"flag":true,"gc":[{"image":false}]})",
              R"({"flag":true,"gc":{"image":false}})"));
}

TEST_CASE("config spec: blocks, several blocks, and blocks with labels") {
  const auto spec = read(
      part(
          "one",
          R"(block_value { required: true nested { object { attributes { key: "x" value { Attr { type: "string" } } } } } })")
      + part(
          "many",
          R"(block_list { name: "many" min_items: 1 max_items: 2 nested { object { attributes { key: "x" value { Attr { name: "x" type: "number" required: true } } } } } })")
      + part(
          "by",
          R"(block_map { name: "by" labels: "name" nested { Attr { name: "x" type: "string" } } })")
      + part("free", R"(block_attrs { name: "free" type: "number" })"));
  CHECK(fields(spec)
        == std::map<std::string, std::pair<ConfigKind, bool>>{{"one", {ConfigKind::BLOCK, true}},
                                                              {"many", {ConfigKind::BLOCKS, true}},
                                                              {"by", {ConfigKind::ANY, false}},
                                                              {"free", {ConfigKind::ANY, false}}});
  CHECK(spec.fields().size() == 4);
  CHECK(makes(
      spec,
      R"({"one":{"x":"a"},"many":[{"x":1},{"x":2}],"by":[{"p":[{"x":"y"}]},{"q":{"x":"z"}}],"free":{"a":1}})",
      R"({"one":{"x":"a"},"many":[{"x":1},{"x":2}],"by":{"p":"y","q":"z"},"free":{"a":1}})"));
  CHECK(makes(spec, R"({"one":[{}],"many":{"x":1}})",
              R"({"one":{"x":null},"many":[{"x":1}],"by":{},"free":null})"));
  CHECK(problem(spec, R"({"many":[{"x":1}]})").find("missing required block \"one\"")
        != std::string::npos);
  CHECK(problem(spec, R"({"one":{},"many":[]})")
        == "failed to parse config: many: at least 1 blocks are required");
  CHECK(problem(spec, R"({"one":{},"many":[{"x":1},{"x":1},{"x":1}]})")
        == "failed to parse config: many: no more than 2 blocks are allowed");
  CHECK(problem(spec, R"({"one":{},"many":{"x":1},"by":[7]})")
        == "failed to parse config: by: expected a block with a label");
  CHECK(problem(spec, R"({"one":{},"many":[{"x":1},{}]})")
        == "failed to parse config: missing required argument \"many[1].x\"");
  CHECK(problem(spec, R"({"one":[{},{}],"many":{"x":1}})")
        == "failed to parse config: one: only one block is allowed");
}

TEST_CASE("config spec: blocks with the same label are one too many, but for their next label") {
  const auto one = read(
      part("by",
           R"(block_map { name: "by" labels: "n" nested { Attr { name: "x" type: "string" } } })"));
  for (const auto* twice :
       {R"({"by":[{"p":{"x":"a"}},{"p":{"x":"b"}}]})", R"({"by":{"p":[{"x":"a"},{"x":"b"}]}})"})
    CHECK(problem(one, twice).find("by[\"p\"]: only one block") != std::string::npos);
  const auto two = read(part(
      "by",
      R"(block_map { name: "by" labels: "n" labels: "m" nested { Attr { name: "x" type: "string" } } })"));
  CHECK(makes(two, R"({"by":[{"p":[{"q":{"x":"a"}}]},{"p":[{"r":{"x":"b"}}]}]})",
              R"({"by":{"p":{"q":"a","r":"b"}}})"));
}

TEST_CASE("config spec: what makes no sense is refused, and nothing is no configuration") {
  CHECK(ConfigSpec::read("x", {})->fields().empty());
  CHECK(makes(*ConfigSpec::read("x", {}), "{}", "{}"));
  CHECK(refused("literal { value: \"1\" }") == "the schema of x makes no sense: it is no object");
  CHECK(refused("object { " + attr("a", "list(") + " }").find("\"list(\" is no type")
        != std::string::npos);
  CHECK(refused("object { " + attr("a", "strnig") + " }").find("is no type") != std::string::npos);
  CHECK(refused("object { " + part("a", "") + " }")
        == "the schema of x makes no sense: a part of it says nothing");
  CHECK(refused("object { " + part("", "Attr { type: \"string\" }") + " }")
        == "the schema of x makes no sense: a part of it has no name");
  CHECK(refused("object { " + part("a", "block_value { name: \"a\" }") + " }").find("says nothing")
        != std::string::npos);
  CHECK(
      refused("object { " + part("a", "literal { value: \"[\" }") + " }").find("\"[\" is no value")
      != std::string::npos);
  std::string deep = "object { }";
  for (int i = 0; i < 40; ++i)
    deep = "object { " + part("a", "block_value { name: \"a\" nested { " + deep + " } }") + " }";
  CHECK(refused(deep) == "the schema of x makes no sense: it is too large, or nested too deeply");
}
