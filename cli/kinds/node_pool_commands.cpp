// node pool init, jobs, nodes; and what its apply, delete, info and list go by.
#include <iostream>

#include <sys/stat.h>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/kinds/kind_commands.hpp"
#include "cli/kinds/specification.hpp"
#include "cli/lookup.hpp"
#include "cli/new_file.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
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

/// What `info` shows behind name and description.
void print_pool_more(const View& pool) {
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
}

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

KindWords node_pool_words() {
  return {.noun = "node pool",
          .plural = "node pools",
          .list_path = "/v1/node/pools",
          .path = "/v1/node/pool/",
          .of_hcl = node_pool_of_hcl,
          .print_more = print_pool_more};
}

Result<int> run_node_pool_init(const std::vector<std::string>& arguments) {
  Arguments parser{"node pool init [options] [file]",
                   "Writes an example specification of a node pool."};
  auto& out = parser.option("out", "The format: hcl (the default) or json.", "hcl");
  auto& quiet = parser.flag("quiet", "Prints nothing.");
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
  NOMAD_TRY(write_new(path, out == "hcl" ? example_hcl : example_json).within("Failed to write"));
  if (!quiet) std::cout << fmt::format("Example node pool specification written to {}\n", path);
  return 0;
}

Result<int> run_node_pool_jobs(const std::vector<std::string>& arguments) {
  ApiCommand command{"node pool jobs [options] <node-pool>", "Lists the jobs of a node pool."};
  OutputFlags output{command};
  const PageFlags pages{command};
  if (auto code = command.start(arguments, one_word("<node-pool>"))) return *code;
  auto& api = *command.api;
  const auto pool = NOMAD_TRY(find_kind(api, node_pool_words(), command.positional()[0]));
  const auto name = View{pool}["Name"].text();
  const auto answer = NOMAD_TRY(api.get("/v1/node/pool/" + segment(name) + "/jobs", pages.query())
                                    .within("Error querying jobs"));
  const bool with_namespace = api.all_namespaces();
  const auto code = print_listed(answer, output, "No jobs", [with_namespace](const View& jobs) {
    return job_table(jobs, with_namespace);
  });
  if (!output.requested()) command.hint_next_page(answer.next_token);
  return code;
}

Result<int> run_node_pool_nodes(const std::vector<std::string>& arguments) {
  ApiCommand command{"node pool nodes [options] <node-pool>", "Lists the nodes of a node pool."};
  OutputFlags output{command};
  const PageFlags pages{command};
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.start(arguments, one_word("<node-pool>"))) return *code;
  auto& api = *command.api;
  const auto pool = NOMAD_TRY(find_kind(api, node_pool_words(), command.positional()[0]));
  const auto name = View{pool}["Name"].text();
  const auto answer = NOMAD_TRY(api.get("/v1/node/pool/" + segment(name) + "/nodes", pages.query())
                                    .within("Error querying nodes"));
  const auto code = print_listed(answer, output, "No nodes", [verbose](const View& nodes) {
    return pool_node_table(nodes, verbose);
  });
  if (!output.requested()) command.hint_next_page(answer.next_token);
  return code;
}

}  // namespace nomad::cli
