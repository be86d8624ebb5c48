// operator gossip keyring install, list, remove, use: the keys that servers seal their membership
// by.
#include <iostream>

#include <boost/json.hpp>

#include "cli/api_command.hpp"
#include "cli/input.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/text/letters.hpp"

namespace nomad::cli {
namespace {

/// More is no key.
constexpr std::size_t most_key_bytes = 4'096;

/// `encrypt` of the configuration opens root keys, whatever keys the servers' membership has.
constexpr std::string_view what_is_left
    = "The servers' membership has changed its keys, root keys are still wrapped by server.encrypt "
      "of the configuration.\nIf others know that key, change server.encrypt on each server as "
      "well, restart it, and run:\n  nomadctl operator root keyring rotate -full";

/// An action of all servers on the key that is the only argument; "-" reads it, so that nobody sees
/// it in the list of processes.
Result<int> act_on_key(const std::vector<std::string>& arguments,
                       std::string_view action,
                       std::string_view about,
                       std::string_view begins,
                       std::string_view ends = {}) {
  ApiCommand command{"operator gossip keyring " + std::string{action} + " [options] <key>", about};
  const WordCount one{1, 1, "This command requires one argument: <key>"};
  if (auto code = command.start(arguments, one)) return *code;
  auto key = command.positional()[0];
  if (key == "-") {
    const auto read = NOMAD_TRY(read_input("-", most_key_bytes).within("error"));
    key = std::string{trim_space(read)};
  }
  std::cout << begins << std::endl;
  NOMAD_TRY(command.api
                ->put("/v1/agent/keyring/" + std::string{action}, boost::json::object{{"Key", key}})
                .within("error"));
  if (!ends.empty()) std::cout << ends << std::endl;
  return 0;
}

}  // namespace

Result<int> run_gossip_keyring_install(const std::vector<std::string>& arguments) {
  return act_on_key(arguments, "install",
                    "Has all servers open by a key, too; \"-\" reads it from stdin.",
                    "Installing new gossip encryption key...");
}

Result<int> run_gossip_keyring_use(const std::vector<std::string>& arguments) {
  return act_on_key(arguments, "use", "Has all servers seal by an installed key.",
                    "Changing primary gossip encryption key...", what_is_left);
}

Result<int> run_gossip_keyring_remove(const std::vector<std::string>& arguments) {
  return act_on_key(arguments, "remove", "Has all servers forget a key by which none seals.",
                    "Removing gossip encryption key...", what_is_left);
}

Result<int> run_gossip_keyring_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator gossip keyring list [options]",
                     "Lists the keys that the servers' membership is sealed by."};
  if (auto code = command.start(arguments, {0, 0, "This command requires no arguments"}))
    return *code;
  std::cout << "Gathering installed encryption keys..." << std::endl;
  const auto answer = NOMAD_TRY(command.api->get("/v1/agent/keyring/list").within("error"));
  Rows rows{{"Key"}};
  for (const auto& [key, count] : answer.view()["Keys"].members())
    rows.push_back({key});
  std::cout << table(rows) << '\n';
  return 0;
}

}  // namespace nomad::cli
