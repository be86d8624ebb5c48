// acl bootstrap; acl token create, delete, info, list, self, update.
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/acl/acl_view.hpp"
#include "cli/input.hpp"
#include "cli/run.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/duration.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view accessor = "<token_accessor_id>";

Row token_row(const View& token) {
  const auto until = parse_rfc3339(token["ExpirationTime"].text());
  const bool is_expired = until && *until != 0 && *until < unix_now();
  return {token["Name"].text(), token["Type"].text(), token["Global"].truth() ? "true" : "false",
          token["AccessorID"].text(), is_expired ? "true" : "false"};
}

std::string token_path(const std::string& id) {
  return "/v1/acl/token/" + segment(id);
}

/// Links to roles, each once.
boost::json::array role_links(const std::vector<std::string>& names,
                              const std::vector<std::string>& ids) {
  boost::json::array links;
  for (const auto& name : std::set<std::string>{names.begin(), names.end()})
    links.push_back(boost::json::object{{"Name", name}});
  for (const auto& id : std::set<std::string>{ids.begin(), ids.end()})
    links.push_back(boost::json::object{{"ID", id}});
  return links;
}

boost::json::array array_of(const std::vector<std::string>& texts) {
  return boost::json::array(texts.begin(), texts.end());
}

Result<int> show_token(const std::vector<std::string>& arguments,
                       ApiCommand& command,
                       const WordCount& words,
                       std::string_view complaint) {
  OutputFlags output{command};
  if (auto code = command.start(arguments, words)) return *code;
  const auto path
      = token_path(command.positional().empty() ? "self" : command.positional().front());
  const auto token = NOMAD_TRY(command.api->get(path).within(complaint));
  return show_acl(output, token.body, token_layout);
}

}  // namespace

Result<int> run_acl_bootstrap(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "acl bootstrap [options] [path]",
      "Makes the first management token, which can be done once. A file, or stdin as \"-\", may "
      "give its secret, which is a UUID; otherwise the servers make one up."};
  OutputFlags output{command};
  if (auto code = command.parse(arguments, {0, 1, "This command takes up to one argument"}))
    return *code;
  NOMAD_TRY(one_format(output));
  std::string secret;
  if (!command.positional().empty() && !command.positional()[0].empty()) {
    constexpr std::size_t most = 4096;
    secret = NOMAD_TRY(
        read_input(command.positional()[0], most).within("Error reading provided token"));
    if (secret.ends_with('\n')) secret.pop_back();
  }
  auto& api = *NOMAD_TRY(command.connect());
  const boost::json::object request{{"BootstrapSecret", secret}};
  const auto token = NOMAD_TRY(api.put("/v1/acl/bootstrap", request).within("Error bootstrapping"));
  return show_made(output, token.body, token_layout);
}

Result<int> run_acl_token_create(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl token create [options]", "Makes a token. Only management may."};
  auto& name = command.option("name", "What the token is for.");
  auto& type = command.option("type", "client or management.", "client");
  auto& global = command.flag("global", "It counts in all regions.");
  auto& policies = command.list("policy", "A policy that it has; may stand several times.");
  auto& role_ids = command.list("role-id", "A role that it has, by id; may stand several times.");
  auto& role_names = command.list("role-name", "The same by name.");
  auto& ttl = command.option("ttl", "How long it counts: \"8h\". Without, for ever.");
  OutputFlags output{command};
  if (auto code = command.parse(arguments, {})) return *code;
  NOMAD_TRY(one_format(output));
  boost::json::object token{{"Name", name},
                            {"Type", type},
                            {"Policies", array_of(policies)},
                            {"Roles", role_links(role_names, role_ids)},
                            {"Global", global}};
  if (!ttl.empty())
    token["ExpirationTTL"] = format_duration(
        NOMAD_TRY(parse_duration(ttl).within("Failed to parse TTL as time duration")));
  auto& api = *NOMAD_TRY(command.connect());
  const auto made = NOMAD_TRY(api.put("/v1/acl/token", token).within("Error creating token"));
  return show_made(output, made.body, token_layout);
}

Result<int> run_acl_token_delete(const std::vector<std::string>& arguments) {
  return delete_acl({.usage = fmt::format("acl token delete [options] {}", accessor),
                     .about = "Removes a token: what it allowed ends at once.",
                     .argument = std::string{accessor},
                     .path = "/v1/acl/token/",
                     .object = "token",
                     .done = "Token {} successfully deleted"},
                    arguments);
}

Result<int> run_acl_token_info(const std::vector<std::string>& arguments) {
  ApiCommand command{fmt::format("acl token info [options] {}", accessor),
                     "Shows a token, with its secret. Only management may."};
  return show_token(arguments, command, one_word(accessor), "Error fetching token");
}

Result<int> run_acl_token_self(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl token self [options]", "Shows the token that asks."};
  return show_token(arguments, command, {}, "Error fetching self token");
}

Result<int> run_acl_token_list(const std::vector<std::string>& arguments) {
  return list_acl({.usage = "acl token list [options]",
                   .about = "Lists the tokens, without their secrets. Only management may.",
                   .path = "/v1/acl/tokens",
                   .objects = "ACL tokens",
                   .none = "No tokens found",
                   .columns = {"Name", "Type", "Global", "Accessor ID", "Expired"},
                   .row = token_row},
                  arguments);
}

Result<int> run_acl_token_update(const std::vector<std::string>& arguments) {
  ApiCommand command{
      fmt::format("acl token update [options] {}", accessor),
      "Changes what is given of a token; policies are set anew. Its secret and expiry stay."};
  auto& name = command.option("name", "What the token is for.");
  auto& type = command.option("type", "client or management.");
  std::optional<bool> global;
  command.flag("global", global, "It counts in all regions, which can't be changed.");
  auto& policies = command.list("policy", "A policy that it has; may stand several times.");
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word(accessor))) return *code;
  NOMAD_TRY(one_format(output));
  auto& api = *command.api;
  const auto path = token_path(command.positional()[0]);
  auto stored = NOMAD_TRY(api.get(path).within("Error fetching token"));
  // The secret has no need to travel back.
  auto token = without(std::move(stored.body), {"Hash", "SecretID"});
  set_if_given(token, "Name", name);
  set_if_given(token, "Type", type);
  if (global) token["Global"] = *global;
  if (!policies.empty()) token["Policies"] = array_of(policies);
  const auto made = NOMAD_TRY(api.put(path, token).within("Error updating token"));
  return show_acl(output, made.body, token_layout);
}

}  // namespace nomad::cli
