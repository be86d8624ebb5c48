// node config: the servers that a client node uses.
#include <iostream>

#include "cli/api_command.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr auto servers_path = "/v1/agent/servers";

}  // namespace

Result<int> run_node_config(const std::vector<std::string>& arguments) {
  ApiCommand command{"node config [options] [<address>...]",
                     "Shows or changes what a running client goes by."};
  auto& list = command.flag("servers", "Lists the servers that the client uses.");
  auto& update = command.flag("update-servers", "Has it use the servers at these addresses.");
  if (auto code = command.parse(arguments, any_words)) return *code;
  if (!list && !update)
    return command.misuse("The '-servers' or '-update-servers' flag(s) must be set");
  const auto& addresses = command.positional();
  if (update && addresses.empty())
    return command.misuse(
        "If the '-update-servers' flag is set, at least one server argument must be provided");
  auto& api = *NOMAD_TRY(command.connect());
  if (update) {
    Query query;
    for (const auto& address : addresses)
      query.emplace_back("address", address);
    NOMAD_TRY(api.put(servers_path, nullptr, query).within("Error updating server list"));
    std::cout << "Updated server list\n";
    return 0;
  }
  const auto servers = NOMAD_TRY(api.get(servers_path).within("Error querying server list"));
  for (const auto& server : servers.view().items())
    std::cout << server.text() << '\n';
  return 0;
}

}  // namespace nomad::cli
