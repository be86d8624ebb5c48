// plugin status -type csi.
#include <iostream>

#include <fmt/format.h>

#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/volume/volume_tables.hpp"

namespace nomad::cli {
namespace {

std::string of_expected(const View& plugin, const std::string& kind) {
  return plugin[kind + "Healthy"].text() + "/" + plugin[kind + "Expected"].text();
}

std::string csi_table(const std::vector<View>& plugins) {
  Rows rows{{"ID", "Provider", "Controllers Healthy/Expected", "Nodes Healthy/Expected"}};
  for (const auto& plugin : plugins)
    rows.push_back({plugin["ID"].text(), plugin["Provider"].text(),
                    of_expected(plugin, "Controllers"), of_expected(plugin, "Nodes")});
  return table(rows);
}

/// What the instances of a kind can do, each once.
std::string capabilities_of(const View& instances, const std::string& kind) {
  std::string all;
  for (const auto& [node, info] : instances.members()) {
    for (const auto& [name, has] : info[kind].members())
      if (has.truth()) all += fmt::format("{}{}", all.empty() ? "" : "\n", name);
    if (!all.empty()) break;
  }
  return all;
}

void print_csi_plugin(const View& plugin, const CsiStatusOptions& options) {
  std::cout << pairs({{"ID", plugin["ID"].text()},
                      {"Provider", plugin["Provider"].text()},
                      {"Version", plugin["Version"].text()},
                      {"Controllers Healthy", plugin["ControllersHealthy"].text()},
                      {"Controllers Expected", plugin["ControllersExpected"].text()},
                      {"Nodes Healthy", plugin["NodesHealthy"].text()},
                      {"Nodes Expected", plugin["NodesExpected"].text()}})
            << '\n';
  if (options.is_short) return;
  if (options.verbose) {
    for (const auto& [title, text] :
         {std::pair{"Controller Capabilities",
                    capabilities_of(plugin["Controllers"], "ControllerInfo")},
          std::pair{"Node Capabilities", capabilities_of(plugin["Nodes"], "NodeInfo")}})
      if (!text.empty()) print_section(title, text);
  }
  const auto allocs = plugin["Allocations"];
  print_section("Allocations", allocs.items().empty() ? "No allocations placed"
                                                      : alloc_table(allocs, options.verbose));
}

}  // namespace

Result<int> print_csi_plugins(Api& api,
                              const std::string& id,
                              const OutputFlags& output,
                              const CsiStatusOptions& options) {
  Query query{{"type", "csi"}};
  if (!id.empty()) query.emplace_back("prefix", id);
  const auto list = NOMAD_TRY(api.get("/v1/plugins", query).within("Error querying CSI plugins"));
  const auto found = list.view().items();
  if (id.empty()) {
    if (auto code = output.print(list.body)) return *code;
    std::cout << title("Container Storage Interface") << '\n'
              << (found.empty() ? "No CSI plugins" : csi_table(found)) << '\n';
    return 0;
  }
  if (found.empty())
    return mistake(fmt::format("No plugins(s) with prefix or ID \"{}\" found", id));
  const View* one = found.size() == 1 ? &found.front() : nullptr;
  for (const auto& plugin : found)
    if (plugin["ID"].text() == id) one = &plugin;
  if (one == nullptr) return mistake("Prefix matched multiple plugins\n\n" + csi_table(found));
  const auto plugin = NOMAD_TRY(
      api.get("/v1/plugin/csi/" + segment((*one)["ID"].text())).within("Error querying plugin"));
  if (auto code = output.print(plugin.body)) return *code;
  print_csi_plugin(plugin.view(), options);
  return 0;
}

}  // namespace nomad::cli
