// plugin list, plugin status: the plugins of an agent and how they stand.
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "cli/volume/volume_tables.hpp"

namespace nomad::cli {
namespace {

constexpr std::pair<const char*, const char*> kind_headings[]
    = {{"TaskHooks", "Task Hooks"},
       {"AllocHooks", "Alloc Hooks"},
       {"Drivers", "Drivers"},
       {"Fingerprinters", "Fingerprinters"},
       {"Actors", "Actors"},
       {"Schedulers", "Schedulers"},
       {"ServiceProviders", "Service Providers"}};

std::string names_in(const View& list) {
  std::string all;
  for (const auto& name : list.items())
    all += (all.empty() ? "" : ",") + name.text();
  return all;
}

std::string provided(const View& plugin) {
  std::string all;
  for (const auto& [member, heading] : kind_headings)
    if (const auto names = names_in(plugin["Provides"][member]); !names.empty())
      all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", heading, names);
  return all;
}

std::string plugin_table(const View& plugins) {
  Rows rows{{"Name", "Version", "Status", "Restarts", "Provides"}};
  for (const auto& plugin : plugins.items())
    rows.push_back({plugin["Name"].text(), plugin["Version"].text(), plugin["Status"].text(),
                    plugin["Restarts"].text(), provided(plugin)});
  return table(rows);
}

void print_plugin(const View& plugin) {
  Pairs rows{{"Name", plugin["Name"].text()},
             {"Version", plugin["Version"].text()},
             {"SDK", plugin["SDK"].text()},
             {"Path", plugin["Path"].text()},
             {"Mode", plugin["Isolated"].truth() ? "isolated" : "in process"},
             {"Status", plugin["Status"].text()},
             {"Since", age(plugin["StatusSince"].number())},
             {"Description", plugin["StatusDescription"].text()},
             {"PID", plugin["PID"].number() == 0 ? "" : plugin["PID"].text()},
             {"Restarts", plugin["Restarts"].text()},
             {"Messages", fmt::format("{} from it, {} to it", plugin["MessagesIn"].text(),
                                      plugin["MessagesOut"].text())},
             {"Log Lines Dropped", plugin["LogLinesDropped"].text()},
             {"Events Dropped", plugin["EventsDropped"].text()},
             {"Delays", plugin["Delays"].text()}};
  for (const auto& [member, heading] : kind_headings)
    rows.emplace_back(heading, names_in(plugin["Provides"][member]));
  rows.emplace_back("Configuration", names_in(plugin["Provides"]["Config"]));
  std::cout << pairs(rows) << '\n';
}

Result<Answer> read_plugins(Api& api, const std::string& node) {
  Query query;
  if (!node.empty()) {
    const auto found = NOMAD_TRY(find_by_prefix(api, node_kind, node, false));
    query.emplace_back("node_id", found.view()["ID"].text());
  }
  return api.get("/v1/agent/plugins", query).within("Error querying plugins");
}

void print_list(const View& plugins) {
  if (plugins.items().empty())
    std::cout << "No plugins: plugin_dir of the agent's configuration names where they are\n";
  else
    std::cout << plugin_table(plugins) << '\n';
}

}  // namespace

Result<int> run_plugin_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"plugin list [options]", "Lists the plugins of an agent."};
  OutputFlags output{command};
  auto& node = command.option("node", "The node whose agent is asked; otherwise the one at hand.");
  if (auto code = command.start(arguments)) return *code;
  const auto answer = NOMAD_TRY(read_plugins(*command.api, node));
  if (auto code = output.print(answer.body)) return *code;
  print_list(answer.view());
  return 0;
}

Result<int> run_plugin_status(const std::vector<std::string>& arguments) {
  ApiCommand command{"plugin status [options] [<plugin>]",
                     "Shows a plugin of an agent; without its name all of them."};
  OutputFlags output{command};
  auto& node = command.option("node", "The node whose agent is asked; otherwise the one at hand.");
  auto& type = command.option("type", "\"csi\" shows CSI plugins.");
  auto& is_short = command.flag("short", "Of a CSI plugin: leaves its allocations out.");
  auto& verbose = command.flag("verbose", "Of a CSI plugin: shows whole ids and capabilities.");
  if (auto code = command.parse(arguments)) return *code;
  if (command.positional().size() > 1)
    return command.misuse("This command takes no arguments or one: <plugin>");
  if (!type.empty() && type != "csi")
    return command.misuse("Invalid value for \"-type\"; valid values are [csi]");
  NOMAD_TRY(command.connect());
  const auto name = command.positional().empty() ? std::string{} : command.positional().front();
  if (type == "csi") return print_csi_plugins(*command.api, name, output, {is_short, verbose});
  const auto answer = NOMAD_TRY(read_plugins(*command.api, node));
  if (name.empty()) {
    if (auto code = output.print(answer.body)) return *code;
    print_list(answer.view());
    return 0;
  }
  for (const auto& plugin : answer.view().items()) {
    if (plugin["Name"].text() != name) continue;
    if (auto code = output.print(*plugin.raw())) return *code;
    print_plugin(plugin);
    return 0;
  }
  return Error{Errc::not_found, fmt::format("No plugin \"{}\" on this agent", name)};
}

}  // namespace nomad::cli
