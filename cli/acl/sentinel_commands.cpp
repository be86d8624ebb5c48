// sentinel apply, delete, list, read: policies of admission.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/acl/acl_view.hpp"
#include "cli/input.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

Row sentinel_row(const View& policy) {
  return {policy["Name"].text(), policy["Scope"].text(), policy["EnforcementLevel"].text(),
          policy["Description"].text()};
}

}  // namespace

Result<int> run_sentinel_apply(const std::vector<std::string>& arguments) {
  ApiCommand command{"sentinel apply [options] <name> <file>",
                     "Creates or changes a policy of admission: its rules are in a file (\"-\": "
                     "stdin), and jobs must keep to them."};
  auto& description = command.option("description", "What the policy is for.");
  auto& scope = command.option("scope", "What it judges: submit-job.");
  auto& level = command.option(
      "level",
      "What it does: advisory (default) warns, soft-mandatory refuses who may not pass "
      "over it, hard-mandatory refuses.");
  if (auto code
      = command.parse(arguments, {2, 2, "This command takes exactly two arguments: <name> <file>"}))
    return *code;
  const auto& name = command.positional()[0];
  const auto rules = NOMAD_TRY(read_input(command.positional()[1]).within("Failed to read file"));
  const boost::json::object policy{
      {"Name", name},
      {"Description", description},
      {"Scope", command.is_given("scope") ? scope : "submit-job"},
      {"EnforcementLevel", command.is_given("level") ? level : "advisory"},
      {"Policy", rules}};
  auto& api = *NOMAD_TRY(command.connect());
  NOMAD_TRY(api.put("/v1/sentinel/policy/" + segment(name), policy)
                .within("Error writing Sentinel policy"));
  std::cout << fmt::format("Successfully wrote {} Sentinel policy!\n", quote(name));
  return 0;
}

Result<int> run_sentinel_delete(const std::vector<std::string>& arguments) {
  return delete_acl({.usage = "sentinel delete [options] <name>",
                     .about = "Removes a policy of admission.",
                     .argument = "<name>",
                     .path = "/v1/sentinel/policy/",
                     .object = "Sentinel policy",
                     .done = "Successfully deleted \"{}\" Sentinel policy!"},
                    arguments);
}

Result<int> run_sentinel_list(const std::vector<std::string>& arguments) {
  return list_acl({.usage = "sentinel list [options]",
                   .about = "Lists the policies of admission.",
                   .path = "/v1/sentinel/policies",
                   .objects = "Sentinel policies",
                   .none = "No policies found",
                   .columns = {"Name", "Scope", "Enforcement Level", "Description"},
                   .row = sentinel_row},
                  arguments);
}

Result<int> run_sentinel_read(const std::vector<std::string>& arguments) {
  ApiCommand command{"sentinel read [options] <name>", "Shows a policy of admission."};
  auto& raw = command.flag("raw", "Prints only the policy's text.");
  if (auto code = command.start(arguments, one_word("<name>"))) return *code;
  const auto answer
      = NOMAD_TRY(command.api->get("/v1/sentinel/policy/" + segment(command.positional()[0]))
                      .within("Error querying Sentinel policy"));
  const auto policy = answer.view();
  if (!raw)
    std::cout << pairs({{"Name", policy["Name"].text()},
                        {"Scope", policy["Scope"].text()},
                        {"Enforcement Level", policy["EnforcementLevel"].text()},
                        {"Description", policy["Description"].text()}})
              << "\nPolicy:\n";
  std::cout << policy["Policy"].text() << '\n';
  return 0;
}

}  // namespace nomad::cli
