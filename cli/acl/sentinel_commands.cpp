// sentinel apply, delete, list, read: policies of admission.
#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/acl/acl_view.hpp"
#include "cli/input.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/syntax/json_node.hpp"
#include "runtime/hcl/syntax/parser.hpp"

namespace nomad::cli {
namespace {

/// Whether the text says itself what policy it is: `policy "name" { … }`. What can't be read the
/// servers refuse.
bool is_whole_policy(const std::string& text) {
  const auto parsed = hcl::parse_hcl1("policy", text);
  if (!parsed.file) return false;
  if (const auto* root = parsed.file->json(); root != nullptr)
    return std::ranges::any_of(root->properties,
                               [](const auto& each) { return each.name == "policy"; });
  const auto* body = parsed.file->body();
  return body != nullptr && std::ranges::any_of(body->blocks, [](const auto* block) {
           return block->type == "policy";
         });
}

Row sentinel_row(const View& policy) {
  return {policy["Name"].text(), policy["Scope"].text(), policy["EnforcementLevel"].text(),
          policy["Description"].text()};
}

}  // namespace

Result<int> run_sentinel_apply(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "sentinel apply [options] <name> <file>",
      "Creates or changes a policy of admission: its rules are in a file (\"-\": "
      "stdin), and jobs must keep to them. A file may say scope and level itself: policy "
      "\"name\" { scope, enforcement, rule }."};
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
  const bool is_whole = is_whole_policy(rules);
  const auto or_else
      = [&](std::string_view flag, const std::string& given, const char* absent) -> std::string {
    if (command.is_given(flag)) return given;
    return is_whole ? "" : absent;
  };
  const boost::json::object policy{{"Name", name},
                                   {"Description", description},
                                   {"Scope", or_else("scope", scope, "submit-job")},
                                   {"EnforcementLevel", or_else("level", level, "advisory")},
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
