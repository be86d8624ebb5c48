// acl whoami, acl explain: who the servers take the caller for, and why they allow something or
// not. Nomad has neither.
#include <array>
#include <iostream>

#include "cli/acl/acl_view.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// Exit status of a question that is answered with no, which is no failure.
constexpr int not_allowed = 2;

void add_if_any(Pairs& shown, std::string_view name, const View& value) {
  if (const auto text = value.text(); !text.empty()) shown.emplace_back(name, text);
}

void print_table(std::string_view name, const Rows& rows) {
  if (rows.size() > 1) print_section(name, table(rows));
}

std::string identity_layout(const View& who) {
  Pairs shown{{"Type", who["Type"].text()}};
  add_if_any(shown, "Accessor ID", who["AccessorID"]);
  add_if_any(shown, "Name", who["Name"]);
  if (!who["AccessorID"].text().empty()) {
    shown.emplace_back("Global", who["Global"].truth() ? "true" : "false");
    shown.emplace_back("Expiry Time", go_time(who["ExpirationTime"], "<none>"));
  }
  add_if_any(shown, "Node ID", who["NodeID"]);
  if (who["Server"].truth()) shown.emplace_back("Server", "true");
  add_if_any(shown, "Remote", who["Remote"]);
  return pairs(shown);
}

void print_identity(const View& who) {
  std::cout << identity_layout(who) << '\n';
  if (const auto workload = who["Workload"]; !workload.is_null())
    print_section("Workload", pairs({{"Namespace", workload["Namespace"].text()},
                                     {"Job ID", workload["JobID"].text()},
                                     {"Alloc ID", workload["AllocID"].text()},
                                     {"Task", workload["Task"].text()}}));
  Rows policies{{"Name", "Role"}};
  for (const auto& policy : who["Policies"].items())
    policies.push_back({policy["Name"].text(), policy["Role"].text()});
  print_table("Policies", policies);
  Rows roles{{"ID", "Name"}};
  for (const auto& role : who["Roles"].items())
    roles.push_back({role["ID"].text(), role["Name"].text()});
  print_table("Roles", roles);
  Rows limits{{"Kept to"}};
  for (const auto& word : who["Limits"].items())
    limits.push_back({word.text()});
  print_table("Limits", limits);
}

void print_rules(std::string_view name, const View& rules) {
  Rows rows{{"Policy", "Roles", "Line", "Rule", "Note"}};
  for (const auto& rule : rules.items()) {
    std::vector<std::string> roles;
    for (const auto& role : rule["Roles"].items())
      roles.push_back(role.text());
    rows.push_back({rule["Policy"].text(), join(roles, ","),
                    rule["Line"].number() == 0 ? "" : rule["Line"].text(), rule["Rule"].text(),
                    rule["Note"].text()});
  }
  print_table(name, rows);
}

/// What may be named besides the capability, by the API's parameters.
struct Subject {
  std::array<std::pair<std::string_view, std::string*>, 4> named;

  explicit Subject(Arguments& command)
      : named{{{"path", &command.option("path", "Of a variable: its path.")},
               {"node_pool", &command.option("node-pool", "Of a node pool: its name.")},
               {"host_volume", &command.option("host-volume", "Of a host volume: its name.")},
               {"plugin", &command.option("plugin", "Of a plugin: its id.")}}} {}

  Query query(const std::string& capability) const {
    Query query{{"capability", capability}};
    for (const auto& [name, value] : named)
      if (!value->empty()) query.emplace_back(name, *value);
    return query;
  }
};

}  // namespace

Result<int> run_acl_whoami(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl whoami [options]",
                     "Shows who the servers take the caller for, and what gives him his rights."};
  OutputFlags output{command};
  if (auto code = command.start(arguments)) return *code;
  const auto who
      = NOMAD_TRY(command.api->get("/v1/acl/whoami").within("Error querying who the caller is"));
  if (auto code = output.print(who.body)) return *code;
  print_identity(who.view());
  return 0;
}

Result<int> run_acl_explain(const std::vector<std::string>& arguments) {
  ApiCommand command{
      "acl explain [options] <capability>",
      "Says whether the token that asks has a capability, such as submit-job, variables-read or "
      "node-write, by which policy, rule and role, and what came close. Exits with "
      "2 if it has not."};
  const Subject subject{command};
  OutputFlags output{command};
  command.flags_may_follow_words();  // so it is asked: "submit-job -namespace prod"
  if (auto code = command.start(arguments, one_word("<capability>"))) return *code;
  const auto& capability = command.positional()[0];
  const auto answer = NOMAD_TRY(
      command.api->get("/v1/acl/explain", subject.query(capability)).within("Error explaining"));
  const auto explained = answer.view();
  const int code = explained["Allowed"].truth() ? 0 : not_allowed;
  if (const auto printed = output.print(answer.body)) return *printed == 0 ? code : *printed;
  std::cout << pairs({{"Capability", capability},
                      {"Allowed", code == 0 ? "true" : "false"},
                      {"Reason", explained["Reason"].text()}})
            << '\n';
  print_rules("Decided by", explained["Rules"]);
  print_rules("Came close", explained["Close"]);
  return code;
}

}  // namespace nomad::cli
