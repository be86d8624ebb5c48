// Agents: which of their settings have no effect here. Nomad tells its settings by the names that
// they have in Go, which are those of files but for case and underscores, and a few besides.
#include <algorithm>
#include <array>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/migrate/judge.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/config/keys.hpp"

namespace nomad::cli::migrate {
namespace {

using config::Key;
using config::KeyState;

/// What Go calls a step of a key's path where that is not the same word.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {
    {"tls", "tlsconfig"},
    {"template", "templateconfig"},
    {"retrymax", "retrymaxattempts"},
    {"statsiteaddress", "statsiteaddr"},
    {"statsdaddress", "statsdaddr"},
    {"datadogaddress", "datadogaddr"},
    {"uiurl", "baseuiurl"},
    {"encrypt", "encryptkey"},
};

/// What Nomad fills in of what has no effect here.
constexpr std::pair<std::string_view, std::string_view> filled_in[] = {
    {"name", "default"},
    {"addr", "127.0.0.1:8500"},
    {"addr", "https://vault.service.consul:8200"},
    {"serverservicename", "nomad"},
    {"serverhttpcheckname", "Nomad Server HTTP Check"},
    {"serverserfcheckname", "Nomad Server Serf Check"},
    {"serverrpccheckname", "Nomad Server RPC Check"},
    {"clientservicename", "nomad-client"},
    {"clienthttpcheckname", "Nomad Client HTTP Check"},
    {"serviceidentityauthmethod", "nomad-workloads"},
    {"taskidentityauthmethod", "nomad-workloads"},
    {"jwtauthbackendpath", "jwt-nomad"},
    {"autoadvertise", "true"},
    {"serverautojoin", "true"},
    {"clientautojoin", "true"},
    {"allowunauthenticated", "true"},
    {"sharessl", "true"},
    {"verifyssl", "true"},
    {"timeout", "5000000000"},
    {"timeouthcl", "5s"},
    {"connectionretryintv", "30000000000"},
    {"connectsrc", R"(["*"])"},
    {"defaultsrc", R"(["'none'"])"},
    {"formaction", R"(["'none'"])"},
    {"imgsrc", R"(["'self'","data:"])"},
    {"scriptsrc", R"(["'self'"])"},
    {"stylesrc", R"(["'self'","'unsafe-inline'"])"},
};

/// What is true in Nomad unless it is set, and told as it is: here false says something.
constexpr std::string_view true_by_default[]
    = {"server.enable_event_broker", "client.no_host_uuid", "telemetry.filter_default"};

/// "retry_interval" and "RetryInterval" as one word.
std::string folded(std::string_view name) {
  auto word = to_lower(name);
  std::erase(word, '_');
  return word;
}

/// The member that a step of a key's path means, or the list of such; null if it is not told.
View member_of(const View& block, std::string_view step) {
  const auto as_in_files = folded(step);
  auto wanted = as_in_files;
  if (const auto* other = std::ranges::find(other_names, wanted,
                                            &std::pair<std::string_view, std::string_view>::first);
      other != std::end(other_names))
    wanted = other->second;
  View found;
  for (const auto& [name, value] : block.members()) {
    const auto word = folded(name);
    if (word == wanted || (found.is_null() && (word == wanted + 's' || word == as_in_files)))
      found = value;
  }
  return found;
}

/// A block that is there once may be told as a list of one.
View once(const View& block) {
  if (block.is_null() || !block.raw()->is_array()) return block;
  const auto all = block.items();
  return all.size() == 1 ? all[0] : View{};
}

/// The block of a plugin; null if the agent has none.
View plugin_of(const View& config, std::string_view name) {
  const auto all = config["Plugins"].items();
  const auto found = std::ranges::find_if(
      all, [name](const View& plugin) { return plugin["Name"].text() == name; });
  return found == all.end() ? View{} : *found;
}

View setting_of(const View& config, std::string_view path) {
  const auto steps = split(path, '.');
  const bool is_of_plugin = steps.size() > 2 && steps[0] == "plugin";
  View at = is_of_plugin ? plugin_of(config, steps[1]) : config;
  for (std::size_t i = is_of_plugin ? 2 : 0; i < steps.size(); ++i)
    at = member_of(once(at), steps[i]);
  return at;
}

/// Whether an agent looks at the key: clients have no use for those of servers.
bool is_looked_at(const View& config, std::string_view path) {
  const auto block = path.substr(0, path.find('.'));
  if (block != "server" && block != "client") return true;
  return member_of(member_of(config, block), "enabled").truth();
}

/// Whether Nomad fills in this value of `name`, or all that is in the block.
bool is_filled_in(std::string_view name, const View& value) {
  if (says_nothing(*value.raw())) return true;
  if (value.raw()->is_object())
    return std::ranges::all_of(value.members(), [](const auto& member) {
      return is_filled_in(member.first, member.second);
    });
  return std::ranges::any_of(filled_in, [word = folded(name), text = value.text()](auto& known) {
    return known.first == word && known.second == text;
  });
}

/// Whether a value asks for nothing that is not so anyway.
bool is_idle(const Key& key, const View& value) {
  const auto name = std::string_view{key.path}.substr(key.path.rfind('.') + 1);
  if (value.is_null()) return true;
  if (std::ranges::find(true_by_default, key.path) != std::end(true_by_default))
    return value.truth();
  if (is_filled_in(name, value) || value.text() == key.idle) return true;
  if (key.kind == config::Kind::block)  // later releases of Nomad have lists of them
    return value.raw()->is_array() && std::ranges::all_of(value.items(), [name](const View& one) {
             return is_filled_in(name, one);
           });
  if (key.kind != config::Kind::duration) return false;
  const auto idle = parse_duration(key.idle);
  const auto told = value.raw()->is_string() ? parse_duration(value.text())
                                             : Result<Nanoseconds>{Nanoseconds{value.number()}};
  return idle && told && *idle == *told;
}

/// Plugins that are not built in.
void tell_plugins(const View& config, std::vector<Remark>& remarks) {
  const auto built_in = config::names_in("plugin");
  for (const auto& plugin : config["Plugins"].items())
    if (const auto name = plugin["Name"].text();
        std::ranges::find(built_in, name) == built_in.end())
      remarks.push_back(
          {Verdict::warning,
           fmt::format("plugin {} is not built in: put it into plugin_dir", quote(name))});
}

}  // namespace

std::vector<Remark> judge_agent(const View& self) {
  const auto config = self["config"];
  std::vector<Remark> remarks;
  for (const Key& key : config::keys()) {
    if (key.state != KeyState::unheeded && key.state != KeyState::refused) continue;
    if (!is_looked_at(config, key.path) || is_idle(key, setting_of(config, key.path))) continue;
    const bool is_error = key.state == KeyState::refused;
    remarks.push_back(
        {is_error ? Verdict::error : Verdict::warning,
         fmt::format("{} {}: {}", key.path, is_error ? "is not supported yet" : "has no effect yet",
                     key.note)});
  }
  tell_plugins(config, remarks);
  return remarks;
}

}  // namespace nomad::cli::migrate
