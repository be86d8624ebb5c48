// operator capacity: how many more of a job fit into the cluster as it is, and what ends first.
// Nomad has nothing like it. Its page in the docs is docs/explain.md.
#include <iostream>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

std::string shown_more(const View& group) {
  return fmt::format("{}{}", group["More"].number(), group["IsBounded"].truth() ? " or more" : "");
}

std::string shown_binds(const View& group) {
  std::vector<std::string> texts;
  for (const auto& one : group["Binds"].items())
    texts.push_back(fmt::format("{} ({})", one["Kind"].text(), one["Nodes"].number()));
  return join(texts, ", ");
}

std::string groups_table(const View& groups) {
  Rows rows{{"Group", "Live", "More", "Within the Quota", "On Nodes", "First to End (Nodes)"}};
  for (const auto& group : groups.items())
    rows.push_back({group["Name"].text(), group["Live"].text(), shown_more(group),
                    group["InQuota"].is_null() ? "-" : group["InQuota"].text(),
                    group["Nodes"].text(), shown_binds(group)});
  return table(rows);
}

void print_nodes(const View& group, bool verbose) {
  Rows rows{{"Node", "Name", "More", "First to End"}};
  for (const auto& node : group["Largest"].items())
    rows.push_back({shown_id(node["NodeID"].text(), verbose), node["NodeName"].text(),
                    node["More"].text(), node["Binds"].text()});
  if (rows.size() > 1)
    print_section(fmt::format("Nodes for \"{}\"", group["Name"].text()), table(rows));
}

}  // namespace

Result<int> run_operator_capacity(const std::vector<std::string>& arguments) {
  ApiCommand command{"operator capacity [options] <job>",
                     "Says how many more allocations of a job's groups fit into the cluster as it "
                     "is, and what comes to its end first."};
  OutputFlags output{command};
  auto& group = command.option("group", "Only this group.");
  auto& verbose = command.flag("verbose", "Shows the nodes that take most, and whole ids.");
  command.flags_may_follow_words();
  if (auto code = command.start(arguments, one_word("<job>"))) return *code;
  const auto job = NOMAD_TRY(find_job(*command.api, command.positional()[0]));
  Query query;
  if (!group.empty()) query.emplace_back("group", group);
  const auto answer = NOMAD_TRY(command.api->get("/v1/job/" + segment(job) + "/capacity", query)
                                    .within("Error querying capacity"));
  if (auto code = output.print(answer.body)) return *code;
  std::cout << groups_table(answer.view()["Groups"]) << '\n';
  if (verbose)
    for (const auto& one : answer.view()["Groups"].items())
      print_nodes(one, verbose);
  return 0;
}

}  // namespace nomad::cli
