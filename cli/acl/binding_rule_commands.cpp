// acl binding-rule create, delete, info, list, update.
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/acl/acl_view.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr std::string_view rule_argument = "<acl_binding_rule_id>";

struct RuleFlags {
  std::string& description;
  std::string& selector;
  std::string& bind_type;
  std::string& bind_name;

  explicit RuleFlags(Arguments& command)
      : description{command.option("description", "What the rule is for.")},
        selector{command.option(
            "selector",
            "Whom it is for: an expression over value.<name> and list.<name>, as the auth "
            "method's mappings name them. Without, everybody.")},
        bind_type{command.option("bind-type", "What it gives: role, policy or management.")},
        bind_name{command.option(
            "bind-name", "Of which name; ${value.<name>} is replaced. Not for management.")} {}

  void put(boost::json::object& rule) const {
    set_if_given(rule, "Description", description);
    set_if_given(rule, "Selector", selector);
    set_if_given(rule, "BindType", bind_type);
    set_if_given(rule, "BindName", bind_name);
  }
};

}  // namespace

Result<int> run_acl_binding_rule_create(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl binding-rule create [options]",
                     "Creates a rule: what those get who log in by an auth method."};
  auto& method = command.option("auth-method", "The name of the auth method.");
  const RuleFlags flags{command};
  OutputFlags output{command};
  if (auto code = command.parse(arguments, {})) return *code;
  if (method.empty())
    return mistake("ACL binding rule auth method must be specified using the -auth-method flag");
  if (flags.bind_type.empty())
    return mistake("ACL binding rule bind type must be specified using the -bind-type flag");
  NOMAD_TRY(one_format(output));
  boost::json::object rule{{"AuthMethod", method}};
  flags.put(rule);
  auto& api = *NOMAD_TRY(command.connect());
  const auto made
      = NOMAD_TRY(api.put("/v1/acl/binding-rule", rule).within("Error creating ACL binding rule"));
  return show_acl(output, made.body, binding_rule_layout);
}

Result<int> run_acl_binding_rule_delete(const std::vector<std::string>& arguments) {
  return delete_acl({.usage = fmt::format("acl binding-rule delete [options] {}", rule_argument),
                     .about = "Removes a binding rule, for logins from now on.",
                     .argument = std::string{rule_argument},
                     .path = "/v1/acl/binding-rule/",
                     .object = "ACL binding rule",
                     .done = "ACL binding rule {} successfully deleted"},
                    arguments);
}

Result<int> run_acl_binding_rule_info(const std::vector<std::string>& arguments) {
  ApiCommand command{fmt::format("acl binding-rule info [options] {}", rule_argument),
                     "Shows a binding rule. Only management may."};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word(rule_argument))) return *code;
  const auto rule
      = NOMAD_TRY(command.api->get("/v1/acl/binding-rule/" + segment(command.positional()[0]))
                      .within("Error reading ACL binding rule"));
  return show_acl(output, rule.body, binding_rule_layout);
}

Result<int> run_acl_binding_rule_list(const std::vector<std::string>& arguments) {
  return list_acl(
      {.usage = "acl binding-rule list [options]",
       .about = "Lists the binding rules. Only management may.",
       .path = "/v1/acl/binding-rules",
       .objects = "ACL binding rules",
       .none = "No ACL binding rules found",
       .columns = {"ID", "Description", "Auth Method"},
       .row =
           [](const View& rule) {
             return Row{rule["ID"].text(), rule["Description"].text(), rule["AuthMethod"].text()};
           }},
      arguments);
}

Result<int> run_acl_binding_rule_update(const std::vector<std::string>& arguments) {
  ApiCommand command{fmt::format("acl binding-rule update [options] {}", rule_argument),
                     "Changes what is given of a binding rule. Its auth method stays."};
  const RuleFlags flags{command};
  auto& no_merge = command.flag("no-merge", "Sets all of it anew instead.");
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word(rule_argument))) return *code;
  NOMAD_TRY(one_format(output));
  auto& api = *command.api;
  const auto path = "/v1/acl/binding-rule/" + segment(command.positional()[0]);
  auto stored = NOMAD_TRY(api.get(path).within("Error when retrieving ACL binding rule"));
  auto rule = without(std::move(stored.body), {"Hash"});
  boost::json::object given;
  flags.put(given);
  if (no_merge && flags.bind_type.empty())
    return mistake("ACL binding rule bind type must be specified using the -bind-type flag");
  if (!no_merge && given.empty())
    return command.misuse("Please provide at least one update for the ACL binding rule");
  if (no_merge) {
    boost::json::object kept;
    for (const auto* name : {"ID", "AuthMethod"})
      if (const auto* const value = rule.if_contains(name)) kept[name] = *value;
    rule = std::move(kept);
  }
  for (const auto& member : given)
    rule[member.key()] = member.value();
  const auto made = NOMAD_TRY(api.put(path, rule).within("Error updating ACL binding rule"));
  return show_acl(output, made.body, binding_rule_layout);
}

}  // namespace nomad::cli
