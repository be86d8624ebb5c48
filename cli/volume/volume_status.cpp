// volume status: the volumes, or one with those who use it.
#include <iostream>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "cli/volume/volume_tables.hpp"

namespace nomad::cli {
namespace {

std::string volume_table(const std::vector<View>& volumes) {
  Rows rows{{"ID", "Name", "Namespace", "Plugin ID", "Schedulable", "Access Mode"}};
  for (const auto& volume : volumes)
    rows.push_back({volume["ID"].text(), volume["Name"].text(), volume["Namespace"].text(),
                    volume["PluginID"].text(), volume["Schedulable"].text(),
                    volume["AccessMode"].text()});
  return table(rows);
}

std::string mount_options_of(const View& options) {
  if (options.is_null()) return {};
  std::string all;
  if (const auto type = options["FSType"].text(); !type.empty()) all = "fs_type: " + type;
  std::string flags;
  for (const auto& flag : options["MountFlags"].items())
    flags += (flags.empty() ? "" : ", ") + flag.text();
  if (!flags.empty()) all += (all.empty() ? "flags: " : " flags: ") + flags;
  return all;
}

std::string topology_of(const View& topology) {
  std::string all;
  for (const auto& [key, value] : topology["Segments"].members())
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", key, value.text());
  return all;
}

void print_volume(const View& volume, bool is_short, bool verbose) {
  Pairs rows{{"ID", volume["ID"].text()},
             {"Name", volume["Name"].text()},
             {"Namespace", volume["Namespace"].text()},
             {"External ID", volume["ExternalID"].text()},
             {"Plugin ID", volume["PluginID"].text()},
             {"Provider", volume["Provider"].text()},
             {"Version", volume["ProviderVersion"].text()},
             {"Schedulable", volume["Schedulable"].text()},
             {"Controllers Healthy", volume["ControllersHealthy"].text()},
             {"Controllers Expected", volume["ControllersExpected"].text()},
             {"Nodes Healthy", volume["NodesHealthy"].text()},
             {"Nodes Expected", volume["NodesExpected"].text()},
             {"Access Mode", volume["AccessMode"].text()},
             {"Attachment Mode", volume["AttachmentMode"].text()},
             {"Mount Options", mount_options_of(volume["MountOptions"])},
             {"Namespace", volume["Namespace"].text()}};
  std::cout << pairs(rows) << '\n';
  if (is_short) return;
  if (const auto topologies = volume["Topologies"].items(); !topologies.empty()) {
    Rows table_rows{{"Topology", "Segments"}};
    unsigned number = 0;
    for (const auto& topology : topologies)
      if (!topology.is_null())
        table_rows.push_back({fmt::format("{:02}", number++), topology_of(topology)});
    print_section("Topologies", table(table_rows));
  }
  const auto allocs = volume["Allocations"];
  print_section("Allocations",
                allocs.items().empty() ? "No allocations placed" : alloc_table(allocs, verbose));
}

/// What each plugin that can say so has, known to the servers or not.
void print_external(Api& api) {
  const auto plugins = api.get("/v1/plugins", {{"type", "csi"}});
  if (!plugins) return;
  for (const auto& plugin : plugins->view().items()) {
    const auto found
        = api.get("/v1/volumes/external", {{"type", "csi"}, {"plugin_id", plugin["ID"].text()}});
    if (!found || found->view()["Volumes"].items().empty()) continue;
    Rows rows{{"External ID", "Condition", "Nodes"}};
    for (const auto& volume : found->view()["Volumes"].items()) {
      std::string nodes;
      for (const auto& node : volume["PublishedExternalNodeIDs"].items())
        nodes += (nodes.empty() ? "" : ",") + node.text();
      const auto status = volume["Status"].text();
      rows.push_back({volume["ExternalID"].text(),
                      volume["IsAbnormal"].truth() ? fmt::format("Abnormal ({})", status) : "OK",
                      nodes});
    }
    print_section(plugin["ID"].text(), table(rows));
  }
}

Result<int> list_all(Api& api, const OutputFlags& output, bool verbose) {
  const auto list
      = NOMAD_TRY(api.get("/v1/volumes", {{"type", "csi"}}).within("Error querying CSI volumes"));
  if (auto code = output.print(list.body)) return *code;
  std::cout << title("Container Storage Interface") << '\n';
  const auto volumes = list.view().items();
  std::cout << (volumes.empty() ? "No CSI volumes" : volume_table(volumes)) << '\n';
  if (verbose) print_external(api);
  return 0;
}

}  // namespace

Result<int> run_volume_status(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume status [options] [<id>]",
                     "Shows a volume and who uses it; without its id all of them."};
  OutputFlags output{command};
  auto& type = command.option("type", "\"csi\", which is what there is.");
  auto& is_short = command.flag("short", "Leaves topologies and allocations out.");
  auto& verbose = command.flag("verbose", "Shows whole ids, and what plugins have besides.");
  if (auto code = command.start(arguments, optional_word("<id>"))) return *code;
  if (!type.empty() && type != "csi")
    return command.misuse("Invalid value for \"-type\"; valid values are [csi]");
  auto& api = *command.api;
  if (command.positional().empty()) return list_all(api, output, verbose);
  const auto& wanted = command.positional()[0];
  const auto list = NOMAD_TRY(api.get("/v1/volumes", {{"type", "csi"}, {"prefix", wanted}})
                                  .within("Error querying volumes"));
  const auto found = list.view().items();
  if (found.empty())
    return mistake(fmt::format("No volumes(s) with prefix or ID \"{}\" found", wanted));
  const View* one = found.size() == 1 ? &found.front() : nullptr;
  for (const auto& volume : found)
    if (volume["ID"].text() == wanted) one = &volume;
  if (one == nullptr) return mistake("Prefix matched multiple volumes\n\n" + volume_table(found));
  api.use_namespace((*one)["Namespace"].text());
  const auto volume = NOMAD_TRY(
      api.get("/v1/volume/csi/" + segment((*one)["ID"].text())).within("Error querying volume"));
  if (auto code = output.print(volume.body)) return *code;
  print_volume(volume.view(), is_short, verbose);
  return 0;
}

}  // namespace nomad::cli
