// operator root keyring list, rotate, remove; operator gossip keyring generate.
#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sodium/randombytes.h>

#include "cli/api_command.hpp"
#include "cli/arguments.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/base/base64.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

std::string table_of_keys(const std::vector<View>& keys, bool verbose) {
  const bool is_published_later = std::any_of(
      keys.begin(), keys.end(), [](const View& key) { return key["PublishTime"].number() > 0; });
  Rows rows{{"Key", "State", "Create Time"}};
  if (is_published_later) rows.front().emplace_back("Publish Time");
  for (const auto& key : keys) {
    std::vector<std::string> row{shown_id(key["KeyID"].text(), verbose), key["State"].text(),
                                 clock_time(key["CreateTime"].number())};
    const auto time = key["PublishTime"].number();
    if (is_published_later) row.push_back(time > 0 ? clock_time(time) : "");
    rows.push_back(std::move(row));
  }
  return table(rows);
}

/// The id of the key that `prefix` means, as lists show it. Servers say nothing of keys that are
/// not there.
Result<std::string> find_key(Api& api, const std::string& prefix) {
  const auto keys = NOMAD_TRY(api.get("/v1/operator/keyring/keys").within("error"));
  std::vector<View> matches;
  for (const auto& key : keys.view().items())
    if (key["KeyID"].text().starts_with(to_lower(prefix))) matches.push_back(key);
  if (matches.empty())
    return mistake(fmt::format("No encryption key(s) with prefix or ID \"{}\" found", prefix));
  if (matches.size() == 1) return matches[0]["KeyID"].text();
  return mistake("Prefix matched multiple keys\n\n" + table_of_keys(matches, true));
}

}  // namespace

Result<int> run_keyring_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator root keyring list [options]", "Lists the root keys."};
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.start(arguments)) return *code;
  const auto keys = NOMAD_TRY(command.api->get("/v1/operator/keyring/keys").within("error"));
  std::cout << table_of_keys(keys.view().items(), verbose) << '\n';
  return 0;
}

Result<int> run_keyring_rotate(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "operator root keyring rotate [options]",
      "Makes a new root key, which seals all variables that are written from now on."};
  auto& full = command.flag("full", "Also seals all variables anew, in the background.");
  auto& prepublish = command.option<std::optional<std::string>>(
      "prepublish", "For how long the new key is known before it signs and seals, such as 1h.");
  auto& now = command.flag("now", "The new key signs at once, as without -prepublish.");
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.start(arguments)) return *code;
  Query query;
  if (prepublish) {
    const auto wait = NOMAD_TRY(parse_duration(*prepublish).within("-prepublish"));
    if (now || wait <= Nanoseconds{0})
      return Error{Errc::invalid_argument, "-prepublish wants a time, and no -now beside it"};
    query.emplace_back("publish_time", std::to_string(unix_now() + wait.count()));
  }
  if (full) query.emplace_back("full", "true");
  const auto answer
      = NOMAD_TRY(command.api->put("/v1/operator/keyring/rotate", nullptr, query).within("error"));
  std::cout << table_of_keys({answer.view()["Key"]}, verbose) << '\n';
  return 0;
}

Result<int> run_keyring_remove(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator root keyring remove [options] <key ID>",
                     "Removes a root key that is not active and that nothing uses."};
  auto& force = command.flag("force",
                             "Removes it even if it has sealed variables or signs identities. What "
                             "it has sealed can't be read any more. Tokens of identities that it "
                             "has signed, and that tasks hold now, stop working: a task gets new "
                             "ones at its next start, those with a ttl when they are renewed.");
  command.flag("verbose", "Has no effect, as with Nomad.");
  if (auto code = command.start(arguments, one_word("<key ID>"))) return *code;
  const auto id = NOMAD_TRY(find_key(*command.api, command.positional()[0]));
  Query query;
  if (force) query.emplace_back("force", "true");
  NOMAD_TRY(command.api->remove("/v1/operator/keyring/key/" + segment(id), query).within("error"));
  std::cout << "Removed encryption key " << id << '\n';
  return 0;
}

Result<int> run_gossip_keyring_generate(const std::vector<std::string>& arguments) {
  Arguments parser{"operator gossip keyring generate",
                   "Makes a key that all servers of a cluster get as server.encrypt."};
  if (auto code = parser.parse(arguments)) return *code;
  std::string key(32, '\0');
  randombytes_buf(key.data(), key.size());
  std::cout << encode_base64(key) << '\n';
  return 0;
}

}  // namespace nomad::cli
