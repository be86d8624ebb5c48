// Files are read by the table of keys: each row has the effect, warning or error that it promises.
#include "runtime/config/key_reader.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/config/keys.hpp"

using namespace nomad::config;

namespace {

namespace json = boost::json;

/// A value that is neither a default nor idle.
json::value example(const Key& key) {
  switch (key.kind) {
    case Kind::boolean: {
      AgentConfig fresh;
      bool usual = key.idle == "true";
      if (key.member != nullptr)
        if (const Target target = key.member(fresh, "x"); std::holds_alternative<bool*>(target))
          usual = *std::get<bool*>(target);
      return !usual;
    }
    case Kind::integer:
    case Kind::real:
      return 7;
    case Kind::duration:
      return "7s";
    case Kind::list:
      return json::array{"other"};
    case Kind::map:
    case Kind::block:
      return json::object{{"name", "value"}};
    case Kind::text:
      break;
  }
  return "other";
}

json::object nested(std::string_view path, json::value value) {
  const auto dot = path.rfind('.');
  const auto name = path.substr(dot == path.npos ? 0 : dot + 1);
  json::object out;
  out[name == "*" ? json::string_view{"x"} : json::string_view{name.data(), name.size()}]
      = std::move(value);
  return dot == path.npos ? out : nested(path.substr(0, dot), std::move(out));
}

/// The member of a row as text, to compare.
std::string shown(const Target& target) {
  struct Show {
    std::string operator()(std::monostate) { return {}; }

    std::string operator()(const std::string* text) { return *text; }

    std::string operator()(const bool* flag) { return *flag ? "true" : "false"; }

    std::string operator()(const std::int64_t* number) { return std::to_string(*number); }

    std::string operator()(const double* number) { return std::to_string(*number); }

    std::string operator()(const nomad::Nanoseconds* time) { return std::to_string(time->count()); }

    std::string operator()(const std::vector<std::string>* list) {
      return std::to_string(list->size());
    }

    std::string operator()(const TextMap* map) { return std::to_string(map->size()); }
  };

  return std::visit(Show{}, target);
}

Findings read(const json::object& tree, AgentConfig& into) {
  return read_keys("a.json", {tree}, into);
}

nomad::Result<AgentConfig> with(AgentConfig base, std::string text) {
  return with_file_text(std::move(base), "a.hcl", std::move(text));
}

}  // namespace

TEST_CASE("key_reader: each row's example has what the row promises") {
  for (const Key& key : keys()) {
    CAPTURE(key.path);
    AgentConfig fresh;
    AgentConfig config;
    const auto found = read(nested(key.path, example(key)), config);
    const auto only = [&](const std::vector<std::string>& of, std::string_view verdict) {
      REQUIRE(of.size() == 1);
      CHECK(of.front().find(verdict) != std::string::npos);
      CHECK(of.front().ends_with(key.note));
    };
    if (key.state == KeyState::refused)
      only(found.errors, ": not supported yet: ");
    else
      CHECK(found.errors.empty());
    if (key.state == KeyState::unheeded)
      only(found.warnings, ": has no effect yet: ");
    else
      CHECK(found.warnings.empty());
    if (key.member != nullptr)
      CHECK(shown(key.member(config, "x")) != shown(key.member(fresh, "x")));
  }
}

TEST_CASE(
    "key_reader: a value of the wrong type is a mistake, whether the key has an effect or not") {
  for (const Key& key : keys()) {
    CAPTURE(key.path);
    AgentConfig config;
    json::value wrong = "tru";
    if (key.kind == Kind::text) wrong = json::object{{"k", "v"}};
    CHECK(read(nested(key.path, wrong), config).errors.size() == 1);
  }
}

TEST_CASE("key_reader: what asks for nothing is not warned of") {
  for (const Key& key : keys()) {
    if (key.state != KeyState::unheeded && key.state != KeyState::refused) continue;
    CAPTURE(key.path);
    json::value idle = json::string{key.idle};
    if (key.kind == Kind::boolean) idle = key.idle == "true";
    if (key.kind == Kind::integer || key.kind == Kind::real)
      idle = key.idle.empty() ? "0" : key.idle;
    if (key.kind == Kind::duration && key.idle.empty()) continue;
    if (key.kind == Kind::list) idle = json::array{};
    if (key.kind == Kind::map) idle = json::object{};
    if (key.kind == Kind::block) idle = json::object{{"enabled", false}, {"more", "x"}};
    AgentConfig config;
    const auto found = read(nested(key.path, idle), config);
    CHECK(found.errors.empty());
    CHECK(found.warnings.empty());
  }
}

TEST_CASE("key_reader: findings say where they are") {
  const auto config = with({}, R"(
server {
  redundancy_zone = "a"
}
plugin "raw_exec" {
  config { no_cgroups = true }
}
)");
  REQUIRE(config.has_value());
  CHECK(config->warnings
        == std::vector<std::string>{
            "a.hcl:3: server.redundancy_zone: has no effect yet: of Nomad Enterprise"});
  CHECK(config->plugins.at("raw_exec").at("no_cgroups") == "true");

  const auto wrong = with({}, R"(
plugin "raw_exce" { config { enabled = true } }
plugin "raw_exec" {
  config { enabled = "tru" }
}
client {
  host_volume "a.b" { pth = "/srv" }
}
acl { enabld = true }
)");
  REQUIRE(wrong.has_error());
  CHECK(wrong.error().what
        == "a.hcl:2: plugin.raw_exce: unknown key; did you mean \"raw_exec\"?\n"
           "a.hcl:4: plugin.raw_exec.config.enabled: expected true or false\n"
           "a.hcl:7: client.host_volume.a.b.pth: unknown key; did you mean \"path\"?\n"
           "a.hcl:9: acl.enabld: unknown key; did you mean \"enabled\"?");
}

TEST_CASE("key_reader: switches that are on stay on, as in Nomad") {
  auto config = with(dev_defaults(), "server { enabled = false }\nclient { enabled = false }");
  REQUIRE(config.has_value());
  CHECK(config->server.enabled);
  CHECK(config->client.enabled);
  config = with({}, "leave_on_terminate = true");
  REQUIRE(config.has_value());
  config = with(std::move(*config), "leave_on_terminate = false");
  REQUIRE(config.has_value());
  CHECK(config->leave_on_terminate);
  config = with({}, "autopilot { cleanup_dead_servers = false }");
  REQUIRE(config.has_value());
  CHECK_FALSE(config->autopilot.cleanup_dead_servers);
}

TEST_CASE("key_reader: the scheduler's defaults, and nodes that refuse plans") {
  auto config = with({}, R"(server {
    default_scheduler_config {
      scheduler_algorithm = "spread"
      pause_eval_broker   = true
      preemption_config {
        system_scheduler_enabled  = false
        service_scheduler_enabled = true
      }
    }
    plan_rejection_tracker {
      enabled        = true
      node_threshold = 7
      node_window    = "90s"
    }
  })");
  REQUIRE(config.has_value());
  const auto& defaults = config->server.default_scheduler_config;
  CHECK(defaults.scheduler_algorithm == "spread");
  CHECK(defaults.pause_eval_broker);
  CHECK_FALSE(defaults.reject_job_registration);
  CHECK_FALSE(defaults.preemption_config.system_scheduler_enabled);
  CHECK(defaults.preemption_config.service_scheduler_enabled);
  const auto& rejections = config->server.plan_rejection_tracker;
  CHECK(rejections.enabled);
  CHECK(rejections.node_threshold == 7);
  CHECK(rejections.node_window == std::chrono::seconds{90});
}

TEST_CASE("key_reader: how much a fuzzy search may look at") {
  const auto search = [](const std::string& says) {
    return with({}, "server {\n  enabled = true\n  search {\n" + says + "\n}\n}");
  };
  const auto config
      = search("fuzzy_enabled = false\nlimit_query = 3\nlimit_results = 4\nmin_term_length = 0");
  REQUIRE(config.has_value());
  CHECK_FALSE(config->server.search.fuzzy_enabled);
  CHECK(config->server.search.limit_query == 3);
  CHECK(config->server.search.limit_results == 4);
  CHECK(config->server.search.min_term_length == 0);
}

TEST_CASE("key_reader: a list of blocks is one block of all that they say") {
  const auto config = with({}, R"({"client": [{"meta": {"a": "1"}, "enabled": true},
                                              {"meta": [{"b": "2"}, {"c": 3}]}], "server": []})");
  REQUIRE(config.has_value());
  CHECK(config->client.enabled);
  CHECK(config->client.meta == TextMap{{"a", "1"}, {"b", "2"}, {"c", "3"}});
}

TEST_CASE("key_reader: what is neither text nor block where one is wanted is a mistake") {
  for (const char* wrong :
       {R"({"region": null})", R"({"region": ["a"]})", R"({"server": ["x"]})",
        R"({"server": null})", R"({"consul": ["x"]})", R"({"client": {"meta": ["a"]}})",
        R"({"client": {"meta": {"a": null}}})", R"({"client": {"meta": {"a": {"b": "c"}}}})",
        R"({"client": [{"meta": {}}, "x"]})", R"({"client": {"servers": [{"a": "b"}]}})",
        R"({"client": {"servers": [null]}})", R"({"client": {"servers": [["a"]]}})",
        R"({"http_allowed_hosts": {}})", "region = null", "client { servers = [[\"a\"]] }"}) {
    CAPTURE(wrong);
    CHECK(with({}, wrong).error().what.find("expected a ") != std::string::npos);
  }
}

TEST_CASE("key_reader: the block of a plugin has keys of its own") {
  const auto config = with({}, R"(plugin_dir = "/p"
plugin "stamp" {
  user     = "nobody"
  confined = true
  paths    = ["/srv"]
  args     = ["-v", 3]
  api {
    allow      = ["read-job", "node-read"]
    namespaces = ["a"]
    token      = "f65efade"
  }
  config {
    file = "a"
  }
}
)");
  REQUIRE(config);
  const auto& block = config->plugin_blocks.at("stamp");
  CHECK(block.user == "nobody");
  CHECK(block.confined);
  CHECK(block.paths == std::vector<std::string>{"/srv"});
  CHECK(block.args == std::vector<std::string>{"-v", "3"});
  CHECK(block.config == R"({"file":"a"})");
  CHECK(block.api == "read-job node-read namespace:a");
  CHECK(block.token == SecretText{"f65efade"});
  CHECK(to_json(*config).find("f65efade") == std::string::npos);
  auto other = block;
  other.token = SecretText{"another"};
  CHECK_FALSE(other == block);
  for (const auto* wrong :
       {R"(paths = ["srv"])", R"(confined = "perhaps")", R"(usr = "nobody")",
        R"(user = ["nobody"])", R"(api = "read-job")", R"(api { allow = ["read-jobs"] })",
        R"(api { allow = ["node:x"] })", R"(api { allow = ["read-job management"] })",
        R"(api { namespaces = ["a management"] })", R"(api { deny = [] })",
        R"(api { token = ["a"] })", R"(api { token = "" })", R"(api { token = "a b" })",
        R"(api { token_file = "token" })", R"(api { token = "a" token_file = "/b" })"}) {
    CAPTURE(wrong);
    CHECK_FALSE(with({}, std::string{"plugin \"stamp\" {\n"} + wrong + "\n}\n"));
  }
}

TEST_CASE("key_reader: a plugin's token may stand in a file, alone") {
  PluginBlock block{.token_file = "/tmp/" + std::to_string(getpid()) + ".plugin-token"};
  CHECK(token_of(PluginBlock{.token = SecretText{"a"}}).value() == SecretText{"a"});
  CHECK(token_of(block).error().what.starts_with("api.token_file: "));
  const auto token_from = [&](const char* text) {
    std::ofstream{block.token_file} << text;
    auto token = token_of(block);
    std::remove(block.token_file.c_str());
    return token;
  };
  CHECK(token_from("f65efade\n").value() == SecretText{"f65efade"});
  for (const auto* text : {"", "\n", "a b", "a\nb\n"})
    CHECK(token_from(text).error().what.find("api.token_file: no token stands in")
          != std::string::npos);
}
