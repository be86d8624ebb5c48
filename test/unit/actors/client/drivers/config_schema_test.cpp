#include "actors/client/drivers/config_schema.hpp"

#include <doctest/doctest.h>

#include "actors/client/drivers/config_reader.hpp"
#include "actors/client/drivers/mock_task.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"

using namespace nomad;
using namespace nomad::client;

namespace {

constexpr ConfigFieldSpec inner[] = {{"deep", ConfigKind::NUMBER, true}};
constexpr ConfigFieldSpec fields[]
    = {{"command", ConfigKind::TEXT, true}, {"count", ConfigKind::NUMBER},
       {"on", ConfigKind::BOOLEAN},         {"wait", ConfigKind::DURATION},
       {"args", ConfigKind::TEXTS},         {"in", ConfigKind::BLOCK, false, inner}};

Result<boost::json::object> apply(std::string_view config) {
  Draft<schema::plugin::DriverDescription> draft;
  write_fields(fields, draft->initConfig(std::size(fields)));
  return apply_fields(draft.freeze()->getConfig(), *parse_json(config));
}

ConfigReader read(std::string_view config) {
  auto applied = apply(config);
  REQUIRE_MESSAGE(applied.has_value(), applied.error().what);
  return ConfigReader{std::move(*applied)};
}

std::string problem(std::string_view config) {
  return apply(config).error().what;
}

}  // namespace

TEST_CASE("config_schema: values become what their fields say, as HCL writes them") {
  const auto plain
      = read(R"({"command":"ls","count":7,"on":true,"wait":"1m30s","args":["a"],"in":{"deep":1}})");
  CHECK(plain.text("command") == "ls");
  CHECK(plain.number("count") == 7);
  CHECK(plain.boolean("on"));
  CHECK(plain.duration("wait") == std::chrono::seconds{90});
  CHECK(plain.texts("args") == std::vector<std::string>{"a"});
  CHECK(plain.block("in").number("deep") == 1);

  const auto loose = read(
      R"({"command":12,"count":"7","on":"1","wait":"","args":[1,true,2.5],"in":[{"deep":"1"}]})");
  CHECK(loose.text("command") == "12");
  CHECK(loose.number("count") == 7);
  CHECK(loose.boolean("on"));
  CHECK_FALSE(loose.has("wait"));
  CHECK(loose.texts("args") == std::vector<std::string>{"1", "true", "2.5"});
  CHECK(loose.block("in").number("deep") == 1);
}

TEST_CASE("config_schema: what is null is not there") {
  const auto config = read(R"({"command":"ls","count":null,"in":null})");
  CHECK_FALSE(config.has("count"));
  CHECK_FALSE(config.has("in"));
  CHECK(config.number("count", 5) == 5);
}

TEST_CASE("config_schema: what does not belong there is said by its name") {
  const std::string head = "failed to parse config: ";
  CHECK(problem(R"({"command":"ls","cuont":1})")
        == head + "no argument or block type is named \"cuont\"; did you mean \"count\"?");
  CHECK(problem(R"({"command":"ls","in":{"deep":1,"x":1}})")
        == head + "in: no argument or block type is named \"x\"");
  CHECK(problem(R"({"comand":"ls"})")  // It is meant by what is missing.
        == head + "no argument or block type is named \"comand\"; did you mean \"command\"?");
  CHECK(problem("{}") == head + "missing required argument \"command\"");
  CHECK(problem(R"({"command":null})") == head + "missing required argument \"command\"");
  CHECK(problem(R"({"command":"ls","in":{}})") == head + "missing required argument \"in.deep\"");
  CHECK(problem(R"({"command":["ls"]})") == head + "command: expected a text");
  CHECK(problem(R"({"command":"ls","count":1.5})") == head + "count: expected a whole number");
  CHECK(problem(R"({"command":"ls","count":"99999999999999999999"})")
        == head + "count: expected a whole number");
  CHECK(problem(R"({"command":"ls","on":2})") == head + "on: expected true or false");
  CHECK(problem(R"({"command":"ls","wait":10})")
        == head + "wait: expected a duration such as \"10s\"");
  CHECK(problem(R"({"command":"ls","args":[[]]})") == head + "args: expected a list of texts");
  CHECK(problem(R"({"command":"ls","in":[{"deep":1},{"deep":2}]})")
        == head + "in: expected a block");
  CHECK(problem(R"(["ls"])") == head + "no object");
  CHECK(apply("{}").error().code == Errc::invalid_argument);
}

TEST_CASE("config_reader: what is no object is refused, what is of another kind is not there") {
  CHECK_FALSE(ConfigReader::parse("[]").has_value());
  CHECK_FALSE(ConfigReader::parse("{").has_value());
  const auto config = ConfigReader::parse(R"({"a":1,"b":["x",2]})").value();
  CHECK(config.text("a", "none") == "none");
  CHECK_FALSE(config.boolean("a"));
  CHECK(config.texts("b") == std::vector<std::string>{"x"});
  CHECK_FALSE(config.block("a").has("x"));
}

TEST_CASE("config_schema: texts under names, and several blocks") {
  static constexpr ConfigFieldSpec of_mount[] = {{"target", ConfigKind::TEXT, true}};
  static constexpr ConfigFieldSpec several[]
      = {{"labels", ConfigKind::MAP}, {"mount", ConfigKind::BLOCKS, false, of_mount}};
  const auto apply_several = [](std::string_view config) {
    Draft<schema::plugin::DriverDescription> draft;
    write_fields(several, draft->initConfig(std::size(several)));
    return apply_fields(draft.freeze()->getConfig(), *parse_json(config));
  };
  auto applied = apply_several(
      R"({"labels":[{"a":1,"b":null},{"c":true}],"mount":[{"target":"/a"},{"target":"/b"}]})");
  REQUIRE(applied.has_value());
  CHECK(applied->at("mount").as_array().size() == 2);
  const ConfigReader reader{std::move(*applied)};
  CHECK(reader.map("labels") == std::map<std::string, std::string>{{"a", "1"}, {"c", "true"}});
  CHECK(reader.map("none").empty());
  CHECK(apply_several(R"({"labels":{"a":"b"},"mount":{"target":"/a"}})").has_value());
  const auto problem_of
      = [&](std::string_view config) { return apply_several(config).error().what; };
  CHECK(problem_of(R"({"labels":"x"})")
        == "failed to parse config: labels: expected texts under names");
  CHECK(problem_of(R"({"mount":[{"target":"/a"},{}]})")
        == "failed to parse config: missing required argument \"mount[1].target\"");
  CHECK(problem_of(R"({"mount":[{"target":"/a","taget":"/b"}]})")
        == "failed to parse config: mount[0]: no argument or block type is named \"taget\"; did you "
           "mean \"target\"?");
  CHECK(problem_of(R"({"mount":["/a"]})") == "failed to parse config: mount[0]: expected a block");
}

TEST_CASE("config_schema: what the driver checks itself passes as it stands") {
  static constexpr ConfigFieldSpec free[] = {{"any", ConfigKind::ANY, true}};
  const auto apply_free = [](std::string_view config) {
    Draft<schema::plugin::DriverDescription> draft;
    write_fields(free, draft->initConfig(1));
    return apply_fields(draft.freeze()->getConfig(), *parse_json(config));
  };
  for (const auto* config : {R"({"any":1.5})", R"({"any":[{"a":{"b":[true,"x"]}}]})"}) {
    const auto applied = apply_free(config);
    REQUIRE(applied.has_value());
    CHECK(boost::json::value(*applied) == *parse_json(config));
  }
  CHECK(apply_free(R"({"any":null})").error().what
        == "failed to parse config: missing required argument \"any\"");
}

TEST_CASE("config_schema: a port map of the mock driver that is none is refused as it stands") {
  const auto reader = ConfigReader::parse(R"({"driver_port_map":"web:many"})").value();
  CHECK(parse_mock_task(reader).error().what == "malformed port map: \"web:many\"");
}
