// scaling policy list, info: the policies by which autoscalers go.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"
#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// "Namespace:default,Job:web,Group:app".
std::string shown_target(const View& target) {
  std::vector<std::string> parts;
  for (const auto* first : {"Namespace", "Job", "Group"})
    if (!target[first].is_null())
      parts.push_back(fmt::format("{}:{}", first, target[first].text()));
  for (const auto& [key, value] : target.members())
    if (key != "Namespace" && key != "Job" && key != "Group")
      parts.push_back(fmt::format("{}:{}", key, value.text()));
  return join(parts, ",");
}

std::string policy_table(const View& policies, bool verbose) {
  auto items = policies.items();
  if (items.empty()) return "No policies found";
  sort_stably(items, [](const View& a, const View& b) {
    return shown_target(a["Target"]) < shown_target(b["Target"]);
  });
  Rows rows{{"ID", "Enabled", "Type", "Target"}};
  for (const auto& policy : items)
    rows.push_back({shown_id(policy["ID"].text(), verbose), policy["Enabled"].text(),
                    policy["Type"].text(), shown_target(policy["Target"])});
  return table(rows);
}

void print_policy(const View& policy, bool verbose) {
  std::cout << pairs({{"ID", shown_id(policy["ID"].text(), verbose)},
                      {"Enabled", policy["Enabled"].text()},
                      {"Target", shown_target(policy["Target"])},
                      {"Min", policy["Min"].text()},
                      {"Max", policy["Max"].text()}})
            << "\n\nPolicy:\n"
            << (policy["Policy"].members().empty() ? "<empty>" : json_text(*policy["Policy"].raw()))
            << '\n';
}

}  // namespace

Result<int> run_scaling_policy_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"scaling policy list [options]", "Lists the scaling policies."};
  OutputFlags output{command};
  auto& job = command.option("job", "Only those of a job.");
  auto& type = command.option("type", "Only those of a type.");
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.start(arguments)) return *code;
  Query query;
  if (!type.empty()) query.emplace_back("type", type);
  if (!job.empty()) query.emplace_back("job", job);
  const auto answer = NOMAD_TRY(
      command.api->get("/v1/scaling/policies", query).within("Error listing scaling policies"));
  if (auto code = output.print(answer.body)) return *code;
  std::cout << policy_table(answer.view(), verbose) << '\n';
  return 0;
}

Result<int> run_scaling_policy_info(const std::vector<std::string>& arguments) {
  ApiCommand command{"scaling policy info [options] <policy_id>", "Shows a scaling policy."};
  OutputFlags output{command};
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  if (auto code = command.parse(arguments)) return *code;
  const auto& given = command.positional();
  if (given.size() > 1 || (given.empty() && !output.requested()))
    return command.misuse(
        "This command takes one of the following argument conditions:\n * A single <policy_id>\n "
        "* No arguments, with output format specified");
  auto& api = *NOMAD_TRY(command.connect());
  if (given.empty()) {
    const auto all
        = NOMAD_TRY(api.get("/v1/scaling/policies").within("Error listing scaling policies"));
    return *output.print(all.body);
  }
  if (given[0].size() == 1) return mistake("Identifier must contain at least two characters.");
  const auto list = NOMAD_TRY(api.get("/v1/scaling/policies", {{"prefix", given[0]}})
                                  .within("Error querying scaling policy"));
  const auto found = list.view().items();
  if (found.empty())
    return mistake(fmt::format("No scaling policies with prefix or id \"{}\" found", given[0]));
  if (found.size() > 1)
    return mistake("Prefix matched multiple scaling policies\n\n"
                   + policy_table(list.view(), verbose));
  const auto policy = NOMAD_TRY(api.get("/v1/scaling/policy/" + found[0]["ID"].text())
                                    .within("Error querying scaling policy"));
  if (auto code = output.print(as_printed(ApiShape::scaling_policy, policy.body))) return *code;
  print_policy(policy.view(), verbose);
  return 0;
}

}  // namespace nomad::cli
