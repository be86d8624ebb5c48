// The commands about access say what Nomad's say: those of test/conformance/commands/acl.json are
// run against the answers that its server gave, and printed, asked and exited must be the same.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::map<std::string, test::FakeAgent::Command> acl_commands{
    {"acl auth-method create", run_acl_auth_method_create},
    {"acl auth-method delete", run_acl_auth_method_delete},
    {"acl auth-method info", run_acl_auth_method_info},
    {"acl auth-method list", run_acl_auth_method_list},
    {"acl auth-method update", run_acl_auth_method_update},
    {"acl binding-rule create", run_acl_binding_rule_create},
    {"acl binding-rule delete", run_acl_binding_rule_delete},
    {"acl binding-rule info", run_acl_binding_rule_info},
    {"acl binding-rule list", run_acl_binding_rule_list},
    {"acl binding-rule update", run_acl_binding_rule_update},
    {"acl bootstrap", run_acl_bootstrap},
    {"acl policy apply", run_acl_policy_apply},
    {"acl policy delete", run_acl_policy_delete},
    {"acl policy info", run_acl_policy_info},
    {"acl policy list", run_acl_policy_list},
    {"acl role create", run_acl_role_create},
    {"acl role delete", run_acl_role_delete},
    {"acl role info", run_acl_role_info},
    {"acl role list", run_acl_role_list},
    {"acl role update", run_acl_role_update},
    {"acl token create", run_acl_token_create},
    {"acl token delete", run_acl_token_delete},
    {"acl token info", run_acl_token_info},
    {"acl token list", run_acl_token_list},
    {"acl token self", run_acl_token_self},
    {"acl token update", run_acl_token_update},
    {"login", run_login}};

/// What ours do better, by a part of the words: then nothing is compared but the exit status.
const std::map<std::string, std::string> known_differences{
    {"acl bootstrap -json -t", "nothing is made before it is known how to show it"},
    {"acl token create -json -t", "the same"},
    {"acl policy apply -namespace default wrong", "the complaint comes before the request"},
    {"acl role info -json", "-json has no effect in Nomad"},
    {"acl role info -t", "the same of -t"},
    {"acl role info -by-name -json", "the same"},
    {"acl auth-method create -name x -max-token-ttl soon", "the mistake is told without the help"},
    {"-config {$", "the mistake in JSON is told in our words, with its place"},
    {"-config { keys$", "the same"},
    {"-oidc-callback-addr", "login_test.cpp plays the browser"}};

std::string string_of(const boost::json::value& text) {
  return {text.as_string().begin(), text.as_string().end()};
}

bool is_zero(const boost::json::value& value) {
  if (value.is_null()) return true;
  if (const auto* text = value.if_string()) return text->empty() || *text == "0001-01-01T00:00:00Z";
  if (const auto* list = value.if_array()) return list->empty();
  if (const auto* object = value.if_object()) return object->empty();
  if (const auto* truth = value.if_bool()) return !*truth;
  const auto* number = value.if_int64();
  return number != nullptr && *number == 0;
}

/// Without members that say nothing, and sorted: what a Go structure makes of it.
boost::json::value essence(const boost::json::value& value) {
  if (const auto* list = value.if_array()) {
    boost::json::array out;
    for (const auto& one : *list)
      out.push_back(essence(one));
    return out;
  }
  const auto* object = value.if_object();
  if (object == nullptr) return value;
  std::map<std::string, boost::json::value> kept;
  for (const auto& member : *object)
    if (auto inner = essence(member.value()); !is_zero(inner)) kept.emplace(member.key(), inner);
  boost::json::object out;
  for (auto& [name, inner] : kept)
    out.emplace(name, std::move(inner));
  return out;
}

/// A body as it matters. Of updates without the members that are not sent back, by design: a
/// token's secret, and an auth method's unchanged members with its configuration.
std::string essence_of_body(const std::string& request, const std::string& body) {
  std::error_code failure;
  auto value = essence(boost::json::parse(body, failure));
  if (failure) return body;
  if (request.starts_with("PUT /v1/acl/token/")) value.as_object().erase("SecretID");
  if (request.starts_with("PUT /v1/acl/auth-method/"))
    for (const auto* name : {"Config", "CreateIndex", "CreateTime", "ModifyIndex", "ModifyTime",
                             "MaxTokenTTL", "TokenLocality", "Type"})
      value.as_object().erase(name);
  return boost::json::serialize(essence(value));
}

/// JSON as its value; other text line by line, each without its indentation: values of several
/// lines are indented by ours.
std::string comparable(std::string text) {
  std::error_code failure;
  if (const auto value = boost::json::parse(text, failure); !failure)
    return boost::json::serialize(essence(value));
  std::string out;
  for (const auto line : split(text, '\n'))
    if (const auto trimmed = trim(line); !trimmed.empty()) out += std::string{trimmed} + '\n';
  return out;
}

std::string complaint(const std::string& text) {
  std::string ours;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest{text.data() + at, text.size() - at};
    if (rest.starts_with("try 'nomad ")) {
      ours += "try 'nomadctl ";
      at += std::string_view{"try 'nomad "}.size();
    } else {
      ours += text[at++];
    }
  }
  return to_lower(comparable(ours));  // The system's texts begin with capitals here.
}

boost::json::array recorded_runs() {
  std::ifstream file{NOMADCTL_SOURCE_ROOT "/test/conformance/commands/acl.json"};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  REQUIRE_FALSE(text.empty());
  return boost::json::parse(text).as_array();
}

struct Recorded : test::FakeAgent {
  test::TempDir dir;

  std::string word_here(const boost::json::value& word, const boost::json::object& files) {
    auto text = string_of(word);
    const auto name = text.starts_with('@') ? text.substr(1) : text;
    if (files.contains(name)) text = (text == name ? "" : "@") + dir.path() + '/' + name;
    return text;
  }

  /// Runs a command as it was recorded; the exit status.
  int replay(const boost::json::object& one) {
    const auto& words = one.at("words").as_array();
    const auto& files = one.at("files").as_object();
    for (const auto& file : files)
      std::ofstream{dir.path() + '/' + std::string{file.key()}} << string_of(file.value());
    for (const auto& exchange : one.at("exchanges").as_array()) {
      const auto path = string_of(exchange.at("path"));
      answer(
          string_of(exchange.at("method")) + ' ' + percent_decoded(path.substr(0, path.find('?'))),
          string_of(exchange.at("answer")), exchange.at("status").to_number<unsigned>());
    }
    const std::size_t named = string_of(words[0]) == "login"       ? 1
                              : string_of(words[1]) == "bootstrap" ? 2
                                                                   : 3;
    std::string name;
    std::vector<std::string> arguments;
    for (std::size_t at = 0; at < words.size(); ++at)
      if (at < named)
        name += (at == 0 ? "" : " ") + string_of(words[at]);
      else
        arguments.push_back(word_here(words[at], files));
    ::setenv("NOMAD_TOKEN", string_of(one.at("token")).c_str(), 1);
    const int code = run(acl_commands.at(name), arguments, string_of(one.at("typed")));
    ::unsetenv("NOMAD_TOKEN");
    return code;
  }

  void check_printed(const boost::json::object& one) {
    CHECK(comparable(out) == comparable(string_of(one.at("out"))));
    const auto folder = dir.path() + '/';
    for (auto at = err.find(folder); at != std::string::npos; at = err.find(folder))
      err.erase(at, folder.size());
    CHECK(complaint(err) == complaint(string_of(one.at("err"))));
  }

  void check_asked(const boost::json::object& one) {
    const auto& exchanges = one.at("exchanges").as_array();
    // Ours looks what may have been meant, where nothing has the name.
    for (std::size_t at = asked.size(); at-- > 0;)
      if (asked[at].ends_with("?per_page=5000")) {
        asked.erase(asked.begin() + static_cast<std::ptrdiff_t>(at));
        tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
      }
    REQUIRE(asked.size() == exchanges.size());
    for (std::size_t at = 0; at < asked.size(); ++at) {
      const auto& exchange = exchanges[at].as_object();
      const auto request = string_of(exchange.at("method")) + ' ' + string_of(exchange.at("path"));
      const auto body = asked[at].find(' ', asked[at].find(' ') + 1);
      CHECK(asked[at].substr(0, body) == request);
      const auto ours = body == std::string::npos ? "" : asked[at].substr(body + 1);
      CHECK(essence_of_body(request, ours)
            == essence_of_body(request, string_of(exchange.at("body"))));
      CHECK(tokens[at] == string_of(exchange.at("token")));
    }
  }

  static std::string percent_decoded(const std::string& path) {
    std::string out;
    for (std::size_t at = 0; at < path.size(); ++at)
      if (path[at] == '%' && at + 2 < path.size()) {
        out += static_cast<char>(std::stoi(path.substr(at + 1, 2), nullptr, 16));
        at += 2;
      } else {
        out += path[at];
      }
    return out;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Recorded, "acl commands: print, ask and exit as Nomad's do") {
  ::setenv("TZ", "UTC", 1);
  std::set<std::string> differed;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());

  for (const auto& value : recorded_runs()) {
    const auto& one = value.as_object();
    std::string line;
    for (const auto& word : one.at("words").as_array())
      line += (line.empty() ? "" : " ") + string_of(word);
    CAPTURE(line);
    std::string known;
    for (const auto& [part, why] : known_differences)
      if ((line + '$').find(part) != std::string::npos) known = part;
    differed.insert(known);
    if (known == "-oidc-callback-addr") continue;
    CHECK(replay(one) == one.at("code").to_number<int>());
    if (!known.empty()) continue;
    check_printed(one);
    check_asked(one);
  }

  std::filesystem::current_path(before);
  CHECK(differed.size() == known_differences.size() + 1);
}
