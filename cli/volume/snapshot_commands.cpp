// volume snapshot create, delete, list.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "cli/volume/volume_file.hpp"

namespace nomad::cli {
namespace {

constexpr std::int64_t nanoseconds = 1'000'000'000;

std::string snapshot_table(const std::vector<View>& snapshots, bool verbose) {
  Rows rows{{"Snapshot ID", "Volume ID", "Size", "Create Time", "Ready?"}};
  for (const auto& one : snapshots) {
    const auto volume = one["SourceVolumeID"].text();
    rows.push_back({verbose ? one["ID"].text() : one["ID"].text().substr(0, 40),
                    volume.empty() ? one["ExternalSourceVolumeID"].text() : volume,
                    bytes(static_cast<std::uint64_t>(one["SizeBytes"].number())),
                    age(one["CreateTime"].number() * nanoseconds), one["IsReady"].text()});
  }
  return table(rows);
}

}  // namespace

Result<int> run_volume_snapshot_create(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume snapshot create [options] <volume id> [snapshot name]",
                     "Has a volume's plugin make a snapshot of it."};
  command.answer_timeout = std::chrono::minutes{3};
  OutputFlags output{command};
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  auto& secrets = command.list("secret", "A secret for the plugin, key=value; several may stand.");
  auto& parameters = command.list("parameter", "A parameter for the plugin, key=value.");
  if (auto code = command.start(
          arguments,
          {1, 2, "This command takes one or two arguments: <volume id> [snapshot name]"}))
    return *code;
  const auto& words = command.positional();
  boost::json::object snapshot{{"SourceVolumeID", words[0]},
                               {"Name", words.size() > 1 ? words[1] : std::string{}},
                               {"Secrets", NOMAD_TRY(pairs_of(secrets, "secret"))},
                               {"Parameters", NOMAD_TRY(pairs_of(parameters, "parameter"))}};
  boost::json::array snapshots;
  snapshots.emplace_back(std::move(snapshot));
  const auto answer = NOMAD_TRY(
      command.api
          ->put("/v1/volumes/snapshot", boost::json::object{{"Snapshots", std::move(snapshots)}})
          .within("Error snapshotting volume"));
  if (auto code = output.print(answer.body)) return *code;
  std::cout << snapshot_table(answer.view()["Snapshots"].items(), verbose) << '\n';
  return 0;
}

Result<int> run_volume_snapshot_delete(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume snapshot delete [options] <plugin id> <snapshot id>",
                     "Has a plugin delete a snapshot."};
  command.answer_timeout = std::chrono::minutes{3};
  auto& secrets = command.list("secret", "A secret for the plugin, key=value; several may stand.");
  if (auto code = command.start(
          arguments, {2, 2, "This command takes two arguments: <plugin id> <snapshot id>"}))
    return *code;
  const auto& words = command.positional();
  command.api->add_header("X-Nomad-CSI-Secrets", NOMAD_TRY(secrets_header(secrets)));
  NOMAD_TRY(
      command.api
          ->remove("/v1/volumes/snapshot", {{"plugin_id", words[0]}, {"snapshot_id", words[1]}})
          .within("Error deleting snapshot"));
  std::cout << fmt::format("Successfully deleted snapshot \"{}\"!\n", words[1]);
  return 0;
}

Result<int> run_volume_snapshot_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"volume snapshot list [options]", "Lists the snapshots that a plugin has."};
  command.answer_timeout = std::chrono::minutes{3};
  OutputFlags output{command};
  auto& plugin = command.option("plugin", "The plugin's id.");
  auto& per_page = command.number("per-page", "So many at a time.", 30);
  auto& token = command.option("page-token", "Where the last page ended.");
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  auto& secrets = command.list("secret", "A secret for the plugin, key=value; several may stand.");
  if (auto code = command.start(arguments)) return *code;
  if (plugin.empty()) return command.misuse("-plugin is needed: the id of a CSI plugin");
  command.api->add_header("X-Nomad-CSI-Secrets", NOMAD_TRY(secrets_header(secrets)));
  const auto answer
      = NOMAD_TRY(command.api
                      ->get("/v1/volumes/snapshot", {{"plugin_id", plugin},
                                                     {"per_page", std::to_string(per_page)},
                                                     {"next_token", token}})
                      .within("Error querying CSI external snapshots"));
  if (auto code = output.print(answer.body)) return *code;
  const auto snapshots = answer.view()["Snapshots"].items();
  std::cout << (snapshots.empty() ? "No snapshots" : snapshot_table(snapshots, verbose)) << '\n';
  command.hint_next_page(answer.view()["NextToken"].text());
  return 0;
}

}  // namespace nomad::cli
