// node pool apply, delete, info, init, jobs, list, nodes.
#include <fstream>
#include <iostream>

#include <sys/stat.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/place/specification.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view example_hcl = R"(node_pool "example" {
  description = "Example node pool"

  # What people and tools want to know of the pool; the scheduler does not look at it.
  meta {
    environment = "prod"
    owner       = "sre"
  }

  # What holds for the nodes of this pool in place of the cluster's configuration
  # (operator scheduler set-config). What is left out is as there.
  # scheduler_config {
  #   scheduler_algorithm             = "spread"
  #   memory_oversubscription_enabled = true
  # }
}
)";

constexpr std::string_view example_json = R"({
  "Name": "example",
  "Description": "Example node pool",
  "Meta": {
    "environment": "prod",
    "owner": "sre"
  },
  "SchedulerConfiguration": {
    "SchedulerAlgorithm": "spread",
    "MemoryOversubscriptionEnabled": true
  }
}
)";

std::string pool_table(const std::vector<View>& pools) {
  Rows rows{{"Name", "Description"}};
  for (const auto& pool : pools)
    rows.push_back({pool["Name"].text(), pool["Description"].text()});
  return table(rows);
}

/// The pool of that name, or the only one whose name begins so.
Result<boost::json::value> find_pool(Api& api, const std::string& prefix) {
  const auto list = NOMAD_TRY(
      api.get("/v1/node/pools", {{"prefix", prefix}}).within("Error retrieving node pool"));
  const auto found = list.view().items();
  if (found.empty())
    return mistake(
        fmt::format("Error retrieving node pool: No node pool with prefix \"{}\" found", prefix));
  for (const auto& pool : found)
    if (found.size() == 1 || pool["Name"].text() == prefix) return *pool.raw();
  return mistake("Prefix matched multiple node pools\n\n" + pool_table(found));
}

/// -filter, -page-token and -per-page.
struct PageFlags {
  std::string filter, page_token;
  std::int64_t per_page = 0;

  explicit PageFlags(Arguments& parser) {
    parser.option("filter", filter, "Only those for which the expression holds.");
    parser.option("page-token", page_token, "Where to go on.");
    parser.option("per-page", per_page, "How many at a time.");
  }

  Query query() const {
    Query query;
    for (const auto& [name, value] : {std::pair{"filter", filter}, {"next_token", page_token}})
      if (!value.empty()) query.emplace_back(name, value);
    if (per_page != 0) query.emplace_back("per_page", std::to_string(per_page));
    return query;
  }

  /// Says how to get the next page of what `command` lists.
  void hint(const std::string& command, const Answer& answer) const {
    print_page_hint(fmt::format("{} -per-page {}", command, per_page), answer.next_token);
  }
};

/// Prints a list of what is in a pool: as asked for, or by `show`.
template <class Show>
int print_listed(const Answer& answer,
                 const OutputFlags& output,
                 std::string_view none,
                 Show show) {
  if (answer.view().items().empty()) {
    std::cout << none << '\n';
    return 0;
  }
  if (auto code = output.print(answer.body)) return *code;
  std::cout << show(answer.view()) << '\n';
  return 0;
}

}  // namespace

Result<int> run_node_pool_apply(const std::vector<std::string>& arguments) {
  bool is_json = false;
  ApiCommand command{"node pool apply [options] <input>",
                     "Creates or changes the node pool that a file describes; \"-\": stdin."};
  command.parser.flag("json", is_json, "The file is JSON.");
  if (auto code = command.start_with("<input>", arguments)) return *code;
  const auto& path = command.parser.positional()[0];
  auto text = NOMAD_TRY(read_input(path));
  const auto pool
      = NOMAD_TRY((is_json ? object_of_json(text) : node_pool_of_hcl(path, std::move(text)))
                      .within("Failed to parse input content"));
  NOMAD_TRY(command.api->put("/v1/node/pools", pool).within("Error applying node pool"));
  const boost::json::value named = pool;
  std::cout << fmt::format("Successfully applied node pool \"{}\"!\n", View{named}["Name"].text());
  return 0;
}

Result<int> run_node_pool_delete(const std::vector<std::string>& arguments) {
  ApiCommand command{"node pool delete [options] <node-pool>",
                     "Removes a node pool that has neither nodes nor live jobs."};
  if (auto code = command.start_with("<node-pool>", arguments)) return *code;
  const auto& name = command.parser.positional()[0];
  NOMAD_TRY(
      command.api->remove("/v1/node/pool/" + segment(name)).within("Error deleting node pool"));
  std::cout << fmt::format("Successfully deleted node pool \"{}\"!\n", name);
  return 0;
}

Result<int> run_node_pool_info(const std::vector<std::string>& arguments) {
  ApiCommand command{"node pool info [options] <node-pool>", "Shows a node pool."};
  OutputFlags output{command.parser};
  if (auto code = command.start_with("<node-pool>", arguments)) return *code;
  const auto found = NOMAD_TRY(find_pool(*command.api, command.parser.positional()[0]));
  if (auto code = output.print(as_printed(ApiShape::place, found))) return *code;
  const View pool{found};
  std::cout << pairs({{"Name", pool["Name"].text()}, {"Description", pool["Description"].text()}})
            << '\n';
  Pairs meta;
  for (const auto& [key, value] : pool["Meta"].members())
    meta.emplace_back(key, value.text());
  print_section("Metadata", meta.empty() ? "No metadata" : pairs(meta));
  const auto configuration = pool["SchedulerConfiguration"];
  Pairs shown{{"Scheduler Algorithm", configuration["SchedulerAlgorithm"].text()}};
  if (const auto over = configuration["MemoryOversubscriptionEnabled"]; !over.is_null())
    shown.emplace_back("Memory Oversubscription Enabled", over.text());
  print_section("Scheduler Configuration",
                configuration.is_null() ? "No scheduler configuration" : pairs(shown));
  return 0;
}

Result<int> run_node_pool_init(const std::vector<std::string>& arguments) {
  std::string out = "hcl";
  bool quiet = false;
  Arguments parser{"node pool init [options] [file]",
                   "Writes an example specification of a node pool."};
  parser.option("out", out, "The format: hcl (the default) or json.");
  parser.flag("quiet", quiet, "Prints nothing.");
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().size() > 1)
    return parser.misuse("This command takes no arguments or one: <filename>");
  if (out != "hcl" && out != "json")
    return mistake(fmt::format("-out {}: expected hcl or json", out));
  const std::string path
      = parser.positional().empty() ? "pool.nomad." + out : parser.positional()[0];

  struct stat info {};

  if (lstat(path.c_str(), &info) == 0)
    return mistake(fmt::format("File \"{}\" already exists", path));
  std::ofstream file{path, std::ios::binary};
  file << (out == "hcl" ? example_hcl : example_json);
  file.close();
  if (!file) return mistake(fmt::format("Failed to write \"{}\"", path));
  if (!quiet) std::cout << fmt::format("Example node pool specification written to {}\n", path);
  return 0;
}

Result<int> run_node_pool_jobs(const std::vector<std::string>& arguments) {
  ApiCommand command{"node pool jobs [options] <node-pool>", "Lists the jobs of a node pool."};
  OutputFlags output{command.parser};
  const PageFlags pages{command.parser};
  if (auto code = command.start_with("<node-pool>", arguments)) return *code;
  auto& api = *command.api;
  const auto pool = NOMAD_TRY(find_pool(api, command.parser.positional()[0]));
  const auto name = View{pool}["Name"].text();
  const auto answer = NOMAD_TRY(api.get("/v1/node/pool/" + segment(name) + "/jobs", pages.query())
                                    .within("Error querying jobs"));
  const bool with_namespace = api.all_namespaces();
  const auto code = print_listed(answer, output, "No jobs", [with_namespace](const View& jobs) {
    return job_table(jobs, with_namespace);
  });
  if (!output.requested()) pages.hint("node pool jobs " + name, answer);
  return code;
}

Result<int> run_node_pool_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"node pool list [options]", "Lists the node pools."};
  OutputFlags output{command.parser};
  const PageFlags pages{command.parser};
  if (auto code = command.start(arguments)) return *code;
  const auto answer = NOMAD_TRY(
      command.api->get("/v1/node/pools", pages.query()).within("Error querying node pools"));
  if (auto code = output.print(as_printed(ApiShape::place, answer.body))) return *code;
  std::cout << pool_table(answer.view().items()) << '\n';
  pages.hint("node pool list", answer);
  return 0;
}

Result<int> run_node_pool_nodes(const std::vector<std::string>& arguments) {
  bool verbose = false;
  ApiCommand command{"node pool nodes [options] <node-pool>", "Lists the nodes of a node pool."};
  OutputFlags output{command.parser};
  const PageFlags pages{command.parser};
  command.parser.flag("verbose", verbose, "Shows whole ids.");
  if (auto code = command.start_with("<node-pool>", arguments)) return *code;
  auto& api = *command.api;
  const auto pool = NOMAD_TRY(find_pool(api, command.parser.positional()[0]));
  const auto name = View{pool}["Name"].text();
  const auto answer = NOMAD_TRY(api.get("/v1/node/pool/" + segment(name) + "/nodes", pages.query())
                                    .within("Error querying nodes"));
  const auto code = print_listed(answer, output, "No nodes", [verbose](const View& nodes) {
    return pool_node_table(nodes, verbose);
  });
  if (!output.requested()) pages.hint("node pool nodes " + name, answer);
  return code;
}

}  // namespace nomad::cli
