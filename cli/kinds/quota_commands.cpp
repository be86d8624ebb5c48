// quota apply, delete, init, inspect, list, status.
#include <iostream>
#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/did_you_mean.hpp"
#include "cli/input.hpp"
#include "cli/kinds/kind_commands.hpp"
#include "cli/kinds/quota_tables.hpp"
#include "cli/kinds/specification.hpp"
#include "cli/new_file.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view example_quota_hcl = R"(name        = "default-quota"
description = "Limit the shared default namespace"

# Create a limit for the global region. Additional limits may
# be specified in-order to limit other regions.
# An amount that is left out, or 0, is no limit; -1: nothing may be used.
limit {
  region = "global"
  region_limit {
    cpu        = 2500
    memory     = 1000
    memory_max = 1000
    # cores       = 4
    # allocations = 20
    # device "nvidia/gpu" {
    #   count = 1
    # }
  }
  variables_limit = 1000
}
)";

constexpr std::string_view example_quota_json = R"({
  "Name": "default-quota",
  "Description": "Limit the shared default namespace",
  "Limits": [
    {
      "Region": "global",
      "RegionLimit": {
        "CPU": 2500,
        "MemoryMB": 1000,
        "MemoryMaxMB": 1000
      },
      "VariablesLimit": 1000
    }
  ]
}
)";

std::string quota_table(const std::vector<View>& quotas) {
  if (quotas.empty()) return "No quotas found";
  Rows rows{{"Name", "Description"}};
  for (const auto& quota : quotas)
    rows.push_back({quota["Name"].text(), quota["Description"].text()});
  return table(rows);
}

/// The quota of that name, or the only one whose name begins so.
Result<boost::json::value> find_quota(Api& api, const std::string& name) {
  const auto list
      = NOMAD_TRY(api.get("/v1/quotas", {{"prefix", name}}).within("Error retrieving quota"));
  const auto found = list.view().items();
  if (found.empty())
    return mistake(fmt::format("Error retrieving quota: Quota \"{}\" matched no quotas{}", name,
                               meant_of_list(api, "/v1/quotas", name)));
  for (const auto& quota : found)
    if (found.size() == 1 || quota["Name"].text() == name) return *quota.raw();
  return mistake("Prefix matched multiple quotas\n\n" + quota_table(found));
}

}  // namespace

Result<int> run_quota_apply(const std::vector<std::string>& arguments) {
  bool is_json = false;
  ApiCommand command{"quota apply [options] <input>",
                     "Creates or changes the quota that a file describes; \"-\": stdin."};
  command.flag("json", is_json, "The file is JSON.");
  if (auto code = command.start(arguments, one_word("<input>"))) return *code;
  auto text = NOMAD_TRY(read_input(command.positional()[0]).within("Failed to read file"));
  const auto quota = is_json ? NOMAD_TRY(object_of_json(text).within("Failed to parse quota"))
                             : NOMAD_TRY(quota_of_hcl(command.positional()[0], std::move(text))
                                             .within("Error parsing quota specification"));
  NOMAD_TRY(command.api->put("/v1/quota", quota).within("Error applying quota specification"));
  const boost::json::value named = quota;
  std::cout << fmt::format("Successfully applied quota specification \"{}\"!\n",
                           View{named}["Name"].text());
  return 0;
}

Result<int> run_quota_delete(const std::vector<std::string>& arguments) {
  return delete_kind({.noun = "quota", .path = "/v1/quota/"}, arguments);
}

Result<int> run_quota_init(const std::vector<std::string>& arguments) {
  Arguments parser{"quota init [options] [file]", "Writes an example specification of a quota."};
  auto& is_json = parser.flag("json", "As JSON.");
  if (auto code = parser.parse(arguments)) return *code;
  if (parser.positional().size() > 1)
    return parser.misuse("This command takes no arguments or one: <filename>");
  const std::string path = !parser.positional().empty() ? parser.positional()[0]
                           : is_json                    ? "spec.json"
                                                        : "spec.hcl";
  NOMAD_TRY(
      write_new(path, is_json ? example_quota_json : example_quota_hcl).within("Failed to write"));
  std::cout << fmt::format("Example quota specification written to {}\n", path);
  return 0;
}

Result<int> run_quota_inspect(const std::vector<std::string>& arguments) {
  ApiCommand command{"quota inspect [options] <quota>", "Prints a quota and what is in use of it."};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word("<quota>"))) return *code;
  const auto quota = NOMAD_TRY(find_quota(*command.api, command.positional()[0]));
  if (auto code = output.print(as_printed(ApiShape::kind, quota))) return *code;
  const auto usages = read_quota_usages(*command.api, View{quota});
  boost::json::object used;
  for (const auto& [region, usage] : usages.by_region)
    used[region] = usage;
  boost::json::object failures;
  for (const auto& [region, what] : usages.failures)
    failures[region] = what;
  output.json = true;
  return *output.print(boost::json::object{{"Spec", as_printed(ApiShape::kind, quota)},
                                           {"UsageLookupErrors", std::move(failures)},
                                           {"Usages", std::move(used)}});
}

Result<int> run_quota_list(const std::vector<std::string>& arguments) {
  ApiCommand command{"quota list [options]", "Lists the quotas."};
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  const auto answer = NOMAD_TRY(command.api->get("/v1/quotas").within("Error retrieving quotas"));
  if (auto code = output.print(as_printed(ApiShape::kind, answer.body))) return *code;
  std::cout << quota_table(answer.view().items()) << '\n';
  return 0;
}

Result<int> run_quota_status(const std::vector<std::string>& arguments) {
  ApiCommand command{"quota status [options] <quota>", "Shows a quota and what is in use of it."};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word("<quota>"))) return *code;
  const auto found = NOMAD_TRY(find_quota(*command.api, command.positional()[0]));
  if (auto code = output.print(as_printed(ApiShape::kind, found))) return *code;
  const View quota{found};
  std::cout << pairs({{"Name", quota["Name"].text()},
                      {"Description", quota["Description"].text()},
                      {"Limits", std::to_string(quota["Limits"].items().size())}})
            << '\n';
  return print_quota_limits(*command.api, quota);
}

}  // namespace nomad::cli
