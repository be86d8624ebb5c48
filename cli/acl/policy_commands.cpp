// acl policy apply, delete, info, list, self.
#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/acl/acl_view.hpp"
#include "cli/did_you_mean.hpp"
#include "cli/input.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

Row policy_row(const View& policy) {
  return {policy["Name"].text(), policy["Description"].text()};
}

/// The workload that a policy is attached to by -namespace, -job, -group and -task; null if none
/// of them was given. NOMAD_NAMESPACE alone attaches nothing.
Result<boost::json::value> workload_of_flags(const ApiCommand& command,
                                             const std::string& job,
                                             const std::string& group,
                                             const std::string& task) {
  const bool has_namespace = command.is_given("namespace");
  if (!job.empty() && !has_namespace) return mistake("-namespace is required if -job is set");
  if (!group.empty() && job.empty()) return mistake("-job is required if -group is set");
  if (!task.empty() && group.empty()) return mistake("-group is required if -task is set");
  if (!has_namespace) return boost::json::value{};
  if (job.empty()) return mistake("-job is required if -namespace is set");
  return boost::json::value{
      {"Namespace", command.common.ns}, {"JobID", job}, {"Group", group}, {"Task", task}};
}

/// The number behind `word` in `text`, and what follows it; 0 if there is none.
std::uint64_t number_behind(std::string_view word, std::string_view& text) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + word.size());
  return leading_number(text);
}

/// The line of the rules that a complaint is about, with a mark below its position, which servers
/// give as "(line 2, column 5)" or "At 2:5"; empty if this one gives none.
std::string marked_line(std::string_view rules, std::string_view complaint) {
  constexpr std::size_t widest = 120;
  auto rest = complaint;
  auto number = number_behind("(line ", rest);
  auto column = number_behind(", column ", rest);
  if (number == 0) {
    rest = complaint;
    number = number_behind("At ", rest);
    column = number_behind(":", rest);
  }
  const auto lines = split(rules, '\n');
  if (number == 0 || number > lines.size() || column == 0) return "";
  const auto line = lines[number - 1];
  if (line.size() > widest || column > line.size() + 1) return "";
  std::string blanks{line.substr(0, column - 1)};
  std::ranges::replace_if(
      blanks, [](char c) { return c != '\t'; }, ' ');
  const auto margin = std::to_string(number);
  return fmt::format("\n\n  {} | {}\n  {} | {}^", margin, line, std::string(margin.size(), ' '),
                     blanks);
}

}  // namespace

Result<int> run_acl_policy_apply(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "acl policy apply [options] <name> <path>",
      "Creates or changes a policy: its rules are in a file (\"-\": stdin). With "
      "-namespace and -job it is attached to a workload, which then has its rights."};
  auto& description = command.option("description", "What the policy is for.");
  auto& job = command.option("job", "Attaches it to this job; wants -namespace.");
  auto& group = command.option("group", "Attaches it to this group of the job.");
  auto& task = command.option("task", "Attaches it to this task of the group.");
  if (auto code
      = command.parse(arguments, {2, 2, "This command takes two arguments: <name> and <path>"}))
    return *code;
  const auto& name = command.positional()[0];
  const auto& path = command.positional()[1];
  const auto rules = NOMAD_TRY(read_input(path).within("Failed to read file"));
  boost::json::object policy{{"Name", name}, {"Description", description}, {"Rules", rules}};
  auto workload = NOMAD_TRY(workload_of_flags(command, job, group, task));
  if (!workload.is_null()) policy["JobACL"] = std::move(workload);
  auto& api = *NOMAD_TRY(command.connect());
  if (const auto done = api.put("/v1/acl/policy/" + segment(name), policy); !done) {
    auto error = done.error().within("Error writing ACL policy");
    error.what += marked_line(rules, error.what);
    return error;
  }
  std::cout << fmt::format("Successfully wrote {} ACL policy!\n", quote(name));
  return 0;
}

Result<int> run_acl_policy_delete(const std::vector<std::string>& arguments) {
  return delete_acl({.usage = "acl policy delete [options] <name>",
                     .about = "Removes a policy. Tokens and roles that name it keep its name, "
                              "which gives them nothing.",
                     .argument = "<name>",
                     .path = "/v1/acl/policy/",
                     .object = "ACL policy",
                     .done = "Successfully deleted {} policy!"},
                    arguments);
}

Result<int> run_acl_policy_info(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl policy info [options] <name>",
                     "Shows a policy: any to management, to others those of their token."};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word("<name>"))) return *code;
  const auto& name = command.positional()[0];
  const auto policy = command.api->get("/v1/acl/policy/" + segment(name))
                          .within("Error fetching info on ACL policy");
  if (!policy) return with_meant(*command.api, policy.error(), "/v1/acl/policies", name);
  return show_acl(output, policy->body, policy_layout);
}

Result<int> run_acl_policy_list(const std::vector<std::string>& arguments) {
  return list_acl(
      {.usage = "acl policy list [options]",
       .about = "Lists the policies: all to management, to others those of their token.",
       .path = "/v1/acl/policies",
       .objects = "ACL policies",
       .none = "No policies found",
       .columns = {"Name", "Description"},
       .row = policy_row},
      arguments);
}

Result<int> run_acl_policy_self(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl policy self [options]", "Shows the policies of the token that asks."};
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  auto& api = *command.api;
  const auto token = NOMAD_TRY(api.get("/v1/acl/token/self").within("Error fetching self token"));
  if (token.view()["Type"].text() == "management") {
    std::cout << "This is a management token. No individual policies are assigned.\n";
    return 0;
  }
  // To a client token the list is its own policies, those of its roles as well.
  const auto stubs = NOMAD_TRY(api.get("/v1/acl/policies").within("Error listing ACL policies"));
  if (auto code = output.print(stubs.body)) return *code;
  Rows own{{"Name", "Description"}};
  for (const auto& stub : stubs.view().items())
    own.push_back(policy_row(stub));
  std::cout << (own.size() == 1 ? "No policies found" : table(own)) << '\n';
  return 0;
}

}  // namespace nomad::cli
