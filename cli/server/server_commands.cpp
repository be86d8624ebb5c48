// server join, server force-leave, operator raft, operator autopilot: the servers among themselves.
#include <array>
#include <iostream>
#include <optional>
#include <variant>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/overloaded.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {

Result<int> run_server_join(const std::vector<std::string>& arguments) {
  ApiCommand command{"server join [options] <address> [<address>...]",
                     "Makes the agent's server and others known to each other."};
  if (auto code = command.parse(arguments)) return *code;
  if (command.positional().empty())
    return command.misuse("One or more node addresses must be given as arguments");
  auto* const api = NOMAD_TRY(command.connect());
  Query query;
  for (const auto& address : command.positional())
    query.emplace_back("address", address);
  auto answer
      = NOMAD_TRY(api->put("/v1/agent/join", boost::json::object{}, query).within("Error joining"));
  const auto joined = answer.view()["num_joined"].number();
  const auto error = answer.view()["error"].text();
  if (joined == 0) return mistake("Error joining: " + error);
  std::cout << fmt::format("Joined {} servers successfully\n", joined);
  return 0;
}

namespace {

/// Servers say nothing of names that nobody has, and most are names of servers without a region.
Result<> check_member(Api& api, const std::string& name) {
  const auto known = api.get("/v1/agent/members");
  if (!known) return {};  // the next request tells why
  std::string likely;
  for (const auto& member : known->view()["Members"].items()) {
    if (member["Name"].text() == name) return {};
    if (member["Name"].text().starts_with(name + '.')) likely = member["Name"].text();
  }
  const auto hint = likely.empty() ? std::string{"`server members` lists them"}
                                   : fmt::format("did you mean \"{}\"?", likely);
  return Error{Errc::not_found, fmt::format("Error force-leaving server {}: no member is named "
                                            "\"{}\": {}",
                                            name, name, hint)};
}

/// Who answers, or has done so until a moment ago, does not leave by somebody else's word.
Result<> check_leave(Api& api, const std::string& name) {
  const auto known = api.get("/v1/agent/members");
  if (!known) return {};  // it was said, and that is all there was to do
  for (const auto& member : known->view()["Members"].items())
    if (member["Name"].text() == name && member["Status"].text() == "alive")
      return Error{
          Errc::conflict,
          fmt::format("Error force-leaving server {}: it answers, or did a moment ago, and "
                      "stays: try again when `server members` shows it as failed",
                      name)};
  return {};
}

}  // namespace

Result<int> run_server_force_leave(const std::vector<std::string>& arguments) {
  ApiCommand command{"server force-leave [options] <node>",
                     "Says of a server that does not answer any more that it has left."};
  auto& prune = command.flag("prune", "Forgets the server altogether.");
  if (auto code = command.start(arguments, one_word("<node>"))) return *code;
  auto& api = command.api;
  Query query{{"node", command.positional()[0]}};
  if (prune) query.emplace_back("prune", "1");
  NOMAD_TRY(check_member(*api, command.positional()[0]));
  NOMAD_TRY(api->put("/v1/agent/force-leave", boost::json::object{}, query)
                .within("Error force-leaving server " + command.positional()[0]));
  NOMAD_TRY(check_leave(*api, command.positional()[0]));
  return 0;
}

Result<int> run_operator_raft_list_peers(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator raft list-peers [options]",
                     "Lists the members of the servers' log."};
  auto& stale = command.flag("stale", "Any server may answer.");
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  Query query;
  if (stale) query.emplace_back("stale", "");
  auto answer = NOMAD_TRY(api->get("/v1/operator/raft/configuration", query)
                              .within("Failed to retrieve raft configuration"));
  Rows rows{{"Node", "ID", "Address", "State", "Voter", "RaftProtocol"}};
  for (const auto& server : answer.view()["Servers"].items())
    rows.push_back({server["Node"].text(), server["ID"].text(), server["Address"].text(),
                    server["Leader"].truth() ? "leader" : "follower",
                    server["Voter"].truth() ? "true" : "false", server["RaftProtocol"].text()});
  std::cout << table(rows) << '\n';
  return 0;
}

Result<int> run_operator_raft_remove_peer(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator raft remove-peer [options]",
                     "Removes a server from the log's members, for ever: its id never comes back."};
  auto& address = command.option("peer-address", "The server's address, IP:port.");
  auto& id = command.option("peer-id", "The server's id.");
  if (auto code = command.parse(arguments)) return *code;
  if (address.empty() == id.empty()) {
    std::cerr << "Error removing peer: "
              << (id.empty() ? "an address or id is required for the peer to remove"
                             : "cannot give both an address and id")
              << '\n';
    return 1;
  }
  auto* const api = NOMAD_TRY(command.connect());
  NOMAD_TRY(api->remove("/v1/operator/raft/peer",
                        id.empty() ? Query{{"address", address}} : Query{{"id", id}})
                .within("Error removing peer"));
  std::cout << (id.empty() ? fmt::format("Removed peer with address \"{}\"\n", address)
                           : fmt::format("Removed peer with id \"{}\"\n", id));
  return 0;
}

Result<int> run_operator_raft_transfer(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator raft transfer-leadership [options]",
                     "Hands leadership to another server: the named one, or the most advanced."};
  auto& address = command.option("peer-address", "The server's address, IP:port.");
  auto& id = command.option("peer-id", "The server's id.");
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  Query query;
  if (!address.empty()) query.emplace_back("address", address);
  if (!id.empty()) query.emplace_back("id", id);
  NOMAD_TRY(api->put("/v1/operator/raft/transfer-leadership", boost::json::object{}, query)
                .within("Error transferring leadership"));
  std::cout << "Transferred leadership\n";
  return 0;
}

namespace {

/// What autopilot goes by: its name in the API, the option that sets it, and what that was given.
struct AutopilotSetting {
  const char* name;
  const char* option;
  const char* help;
  std::variant<std::optional<bool>, std::optional<std::string>, std::optional<std::int64_t>> value;
};

std::array<AutopilotSetting, 8> autopilot_settings() {
  const std::optional<bool> flag;
  const std::optional<std::string> duration;
  const std::optional<std::int64_t> number;
  return {{
      {"CleanupDeadServers", "cleanup-dead-servers", "Whether dead servers are removed.", flag},
      {"LastContactThreshold", "last-contact-threshold",
       "A healthy server's longest silence; 200ms.", duration},
      {"MaxTrailingLogs", "max-trailing-logs", "How far a healthy server's log may be behind.",
       number},
      {"MinQuorum", "min-quorum", "Fewer servers than these never stay.", number},
      {"ServerStabilizationTime", "server-stabilization-time",
       "How long a server is healthy before it votes; 10s.", duration},
      {"EnableRedundancyZones", "enable-redundancy-zones", "Kept and shown, no more.", flag},
      {"DisableUpgradeMigration", "disable-upgrade-migration", "Kept and shown, no more.", flag},
      {"EnableCustomUpgrades", "enable-custom-upgrades", "Kept and shown, no more.", flag},
  }};
}

}  // namespace

Result<int> run_operator_autopilot_get_config(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator autopilot get-config [options]", "Shows what autopilot goes by."};
  if (auto code = command.start(arguments)) return *code;
  auto& api = command.api;
  auto answer = NOMAD_TRY(api->get("/v1/operator/autopilot/configuration")
                              .within("Error querying Autopilot configuration"));
  for (const auto& setting : autopilot_settings())
    std::cout << setting.name << " = " << answer.view()[setting.name].text() << '\n';
  return 0;
}

Result<int> run_operator_autopilot_set_config(const std::vector<std::string>& arguments) {
  auto settings = autopilot_settings();
  ApiCommand command{"operator autopilot set-config [options]", "Changes what autopilot goes by."};
  for (auto& setting : settings)
    std::visit(
        Overloaded{
            [&](std::optional<bool>& value) { command.flag(setting.option, value, setting.help); },
            [&](auto& value) { command.option(setting.option, value, setting.help); }},
        setting.value);
  if (auto code = command.parse(arguments, WordCount{})) return *code;
  for (const auto& setting : settings)
    if (const auto* duration = std::get_if<std::optional<std::string>>(&setting.value);
        duration != nullptr && *duration && !parse_duration(**duration))
      return mistake(
          fmt::format("Failed to parse args: time: invalid duration \"{}\"", **duration));
  auto* const api = NOMAD_TRY(command.connect());
  const auto stored = api->get("/v1/operator/autopilot/configuration");
  if (!stored) return fail("Error querying for Autopilot configuration", stored.error());
  if (!stored->body.is_object())
    return mistake(
        "Error querying for Autopilot configuration: the agent's answer is no JSON object");
  auto config = stored->body.get_object();
  for (const auto& setting : settings)
    std::visit(
        [&](const auto& value) {
          if (value) config[setting.name] = *value;
        },
        setting.value);
  const auto index = stored->view()["ModifyIndex"].number();
  const auto answer = NOMAD_TRY(
      api->put("/v1/operator/autopilot/configuration", config, {{"cas", std::to_string(index)}})
          .within("Error setting Autopilot configuration"));
  if (answer.view().text() != "true")
    return mistake("Configuration could not be atomically updated, please try again");
  std::cout << "Configuration updated!\n";
  return 0;
}

Result<int> run_operator_autopilot_health(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator autopilot health [options]", "Shows how the servers are."};
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  const auto response = NOMAD_TRY(command.api->send("GET", "/v1/operator/autopilot/health", {}, "")
                                      .within("Error querying Autopilot health"));
  // "Too many requests" is how an unhealthy cluster is told, with the same body.
  if (response.status != 200 && response.status != 429)
    return fail("Error querying Autopilot health", refusal(response));
  const auto body = NOMAD_TRY(json_of(response).within("Error querying Autopilot health"));
  if (auto code = output.print(body)) return *code;
  const View health{body};
  std::cout << "Healthy           = " << health["Healthy"].text() << '\n'
            << "FailureTolerance  = " << health["FailureTolerance"].text() << "\n\n";
  Rows rows{{"Name", "ID", "Address", "Status", "Leader", "Voter", "Healthy", "LastContact",
             "LastTerm", "LastIndex"}};
  for (const auto& server : health["Servers"].items())
    rows.push_back({server["Name"].text(), shown_id(server["ID"].text(), false),
                    server["Address"].text(), server["SerfStatus"].text(), server["Leader"].text(),
                    server["Voter"].text(), server["Healthy"].text(), server["LastContact"].text(),
                    server["LastTerm"].text(), server["LastIndex"].text()});
  std::cout << table(rows) << '\n';
  return 0;
}

}  // namespace nomad::cli
