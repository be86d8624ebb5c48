#include "test/unit/runtime/template/cases.hpp"

#include <fstream>
#include <memory>
#include <sstream>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/base/utf8.hpp"

namespace nomad::templates {
namespace {

std::string text_of(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains({key.data(), key.size()});
  return value == nullptr ? std::string{} : std::string{std::string_view{value->get_string()}};
}

Value any_map(std::vector<std::pair<const char*, Value>> entries) {
  auto map = std::make_shared<Map>();
  for (auto& [key, value] : entries)
    map->set(key, std::move(value));
  return Value::map(std::move(map));
}

Value user(const char* name, std::int64_t age, const std::vector<std::string>& tags) {
  return any_map(
      {{"Name", Value::text(name)}, {"Age", Value::integer(age)}, {"Tags", Value::texts(tags)}});
}

const Function add{
    "Add", {&types::integer, &types::integer}, false, [](Call& call) -> Result<Value> {
      return Value::integer(call.integer(0) + call.integer(1));
    }};
const Function fail{"Fail", {&types::text}, false, [](Call& call) -> Result<Value> {
                      return function_error("failed on " + std::string{call.text(0)});
                    }};
const Function join_parts{
    "Join", {&types::text, &types::text}, true, [](Call& call) -> Result<Value> {
      std::string out;
      for (std::size_t i = 1; i < call.size(); ++i)
        out += (i > 1 ? std::string{call.text(0)} : "") + std::string{call.text(i)};
      return Value::text(out);
    }};

VariableMeta meta(std::string path, std::uint64_t index) {
  return {.name_space = "default",
          .path = std::move(path),
          .create_index = index,
          .modify_index = index + 1,
          .create_time = 1'700'000'000'000'000'000,
          .modify_time = 1'700'000'001'000'000'000};
}

}  // namespace

std::vector<Case> load_cases(std::string_view name) {
  std::ifstream file{std::string{TEMPLATE_TEST_DATA} + '/' + std::string{name}, std::ios::binary};
  REQUIRE_MESSAGE(file.good(), name);
  std::stringstream text;
  text << file.rdbuf();
  std::vector<Case> out;
  const boost::json::value cases = boost::json::parse(text.str());
  for (const auto& one : cases.as_array()) {
    const auto& object = one.as_object();
    Case each{.text = text_of(object, "template"),
              .delimiters = {text_of(object, "left"), text_of(object, "right")},
              .missing_key = text_of(object, "missing"),
              .output = std::nullopt,
              .error = text_of(object, "error")};
    if (object.contains("output")) each.output = text_of(object, "output");
    out.push_back(std::move(each));
  }
  return out;
}

Value case_data() {
  std::vector<Value> mixed{Value::integer(1), Value::text("two"), Value::number(3.5),
                           Value::boolean(true), Value{}};
  std::vector<Value> ints{Value::integer(3), Value::integer(1), Value::integer(2)};
  auto text_map = std::make_shared<Map>();
  text_map->set("x", Value::text("1"));
  text_map->set("y", Value::text("2"));
  return any_map({
      {"Int", Value::integer(17)},
      {"Neg", Value::integer(-5)},
      {"Zero", Value::integer(0)},
      {"Int64", Value::integer(std::int64_t{1} << 40, types::int64)},
      {"Uint64", Value::natural((std::uint64_t{1} << 63U) + 5)},
      {"Float", Value::number(1.5)},
      {"Big", Value::number(1e21)},
      {"Million", Value::number(1e6)},
      {"Small", Value::number(1e-7)},
      {"Third", Value::number(1.0 / 3)},
      {"NegFloat", Value::number(-2.25)},
      {"True", Value::boolean(true)},
      {"False", Value::boolean(false)},
      {"Nil", Value{}},
      {"Str", Value::text("hello")},
      {"Empty", Value::text("")},
      {"Uni", Value::text("héllo ☃")},
      {"Html", Value::text("<a href=\"x\">'&'</a>")},
      {"Bad", Value::text("a\xff"
                          "b")},
      {"Multi", Value::text("one\ntwo\n")},
      {"Tab", Value::text("a\tb")},
      {"List", Value::list(mixed)},
      {"Strs", Value::texts({"b", "a", "c"})},
      {"Ints", Value::list(ints, types::integer_list)},
      {"None", Value::list({})},
      {"Map", any_map({{"a", Value::integer(1)},
                       {"b", Value::text("two")},
                       {"in", any_map({{"x", Value::boolean(true)}, {"y", Value{}}})}})},
      {"StrMap", Value::map(text_map, types::text_map)},
      {"NoMap", any_map({})},
      {"Users", Value::list({user("Ann", 30, {"x", "y"}), user("Bob", 25, {})})},
      {"Add", Value::function(add)},
      {"Fail", Value::function(fail)},
      {"Join", Value::function(join_parts)},
  });
}

std::optional<std::vector<ServiceName>> CaseSources::services(const ServicesQuery& query) {
  if (!query.region.empty()) return std::nullopt;
  return std::vector<ServiceName>{{"cache", {"fast"}}, {"web", {"prod", "a"}}};
}

std::optional<std::vector<ServiceInstance>> CaseSources::service(const ServiceQuery& query) {
  const ServiceInstance first{.id = "id-1",
                              .name = "web",
                              .node = "node-1",
                              .address = "10.0.0.1",
                              .port = 8080,
                              .datacenter = "dc1",
                              .tags = {"prod", "a"},
                              .job_id = "web",
                              .alloc_id = "alloc-1"};
  const ServiceInstance second{.id = "id-2",
                               .name = "web",
                               .node = "node-2",
                               .address = "10.0.0.2",
                               .port = 8081,
                               .datacenter = "dc1",
                               .tags = {"b"},
                               .job_id = "web",
                               .alloc_id = "alloc-2"};
  if (query == ServiceQuery{.name = "web"}) return std::vector{first, second};
  if (query == ServiceQuery{.name = "web", .tag = "a"}) return std::vector{first};
  if (query == ServiceQuery{.name = "web", .choose = "1|key"}) return std::vector{second};
  if (query == ServiceQuery{.name = "none"}) return std::vector<ServiceInstance>{};
  return std::nullopt;
}

std::optional<std::optional<Variable>> CaseSources::variable(const VariableQuery& query) {
  if (query.name_space != "default" || !query.region.empty()) return std::nullopt;
  if (query.path == "app/gone") return std::optional<Variable>{};
  if (query.path != "app/config") return std::nullopt;
  VariableMeta of = meta("app/config", 10);
  of.modify_index = 20;
  return Variable{of, {{"user", "admin"}, {"password", "s3cret\"x"}, {"port", "5432"}}};
}

std::optional<std::vector<VariableMeta>> CaseSources::variables(const VariableListQuery& query) {
  if (query.name_space != "default" || !query.region.empty()) return std::nullopt;
  if (query.prefix.empty())
    return std::vector{meta("app/config", 10), meta("app/other", 30), meta("z", 50)};
  if (query.prefix == "app") return std::vector{meta("app/config", 10), meta("app/other", 30)};
  if (query.prefix == "empty") return std::vector<VariableMeta>{};
  return std::nullopt;
}

Result<std::optional<std::string>> CaseSources::file(const FileQuery& query) {
  if (query.path == "conf.txt") return std::optional<std::string>{"file's\ncontents\n"};
  return std::optional<std::string>{};
}

std::optional<std::string> CaseSources::environment(std::string_view name) {
  if (name == "HOME") return "/home/me";
  if (name == "EMPTY") return "";
  if (name == "NOMAD_TASK_NAME") return "web";
  return std::nullopt;
}

std::int64_t CaseSources::now() {
  return 1'700'000'000'123'456'789;
}

Result<std::string> CaseSources::address(std::string_view text) {
  return std::string{text};
}

std::string CaseSources::random(std::size_t bytes) {
  return std::string(bytes, '\x07');
}

std::string outcome(const Result<std::string>& result) {
  const std::string text = result ? *result : "error: " + result.error().what;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    append_utf8(out, point.value);
    at += point.length;
  }
  return out;
}

}  // namespace nomad::templates
