// acl role create, delete, info, list, update.
#include <algorithm>

#include <boost/json.hpp>

#include "cli/acl/acl_view.hpp"
#include "cli/did_you_mean.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// What a role is, as far as flags said so.
struct RoleFlags {
  std::string& name;
  std::string& description;
  std::vector<std::string>& policies;

  explicit RoleFlags(Arguments& command)
      : name{command.option("name", "The role's name: 1 to 128 letters, digits and dashes.")},
        description{command.option("description", "What the role is for.")},
        policies{command.list("policy", "A policy that it gives; may stand several times.")} {}

  Result<> suffice() const {
    if (name.empty()) return mistake("ACL role name must be specified using the -name flag");
    if (policies.empty())
      return mistake("At least one policy name must be specified using the -policy flag");
    return {};
  }
};

/// Adds a link to each of the policies that `links` has not.
void add_links(boost::json::value& links, const std::vector<std::string>& policies) {
  if (!links.is_array()) links = boost::json::array{};
  auto& list = links.get_array();
  for (const auto& name : policies) {
    const bool is_there = std::ranges::any_of(
        list, [&name](const auto& link) { return View{link}["Name"].text() == name; });
    if (!is_there) list.push_back(boost::json::object{{"Name", name}});
  }
}

}  // namespace

Result<int> run_acl_role_create(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl role create [options]", "Creates a role, which gives its policies."};
  const RoleFlags flags{command};
  OutputFlags output{command};
  if (auto code = command.parse(arguments, {})) return *code;
  NOMAD_TRY(flags.suffice());
  NOMAD_TRY(one_format(output));
  boost::json::object role{{"Name", flags.name}, {"Description", flags.description}};
  add_links(role["Policies"], flags.policies);
  auto& api = *NOMAD_TRY(command.connect());
  const auto made = NOMAD_TRY(api.put("/v1/acl/role", role).within("Error creating ACL role"));
  return show_acl(output, made.body, role_layout);
}

Result<int> run_acl_role_delete(const std::vector<std::string>& arguments) {
  return delete_acl({.usage = "acl role delete [options] <acl_role_id>",
                     .about = "Removes a role; it gives the tokens that have it nothing more.",
                     .argument = "<acl_role_id>",
                     .path = "/v1/acl/role/",
                     .object = "ACL role",
                     .done = "ACL role {} successfully deleted"},
                    arguments);
}

Result<int> run_acl_role_info(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl role info [options] <acl_role_id>", "Shows a role."};
  auto& by_name = command.flag("by-name", "What is given is its name.");
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word("<acl_role_id>"))) return *code;
  const std::string path = by_name ? "/v1/acl/role/name/" : "/v1/acl/role/";
  const auto& named = command.positional()[0];
  const auto role = command.api->get(path + segment(named)).within("Error reading ACL role");
  if (!role && by_name) return with_meant(*command.api, role.error(), "/v1/acl/roles", named);
  if (!role) return role.error();
  return show_acl(output, role->body, role_layout);
}

Result<int> run_acl_role_list(const std::vector<std::string>& arguments) {
  return list_acl({.usage = "acl role list [options]",
                   .about = "Lists the roles.",
                   .path = "/v1/acl/roles",
                   .objects = "ACL roles",
                   .none = "No ACL roles found",
                   .columns = {"ID", "Name", "Description", "Policies"},
                   .row =
                       [](const View& role) {
                         return Row{role["ID"].text(), role["Name"].text(),
                                    role["Description"].text(), join(policy_names(role), ",")};
                       }},
                  arguments);
}

Result<int> run_acl_role_update(const std::vector<std::string>& arguments) {
  ApiCommand command{"acl role update [options] <acl_role_id>",
                     "Changes what is given, and adds policies to those that the role has."};
  const RoleFlags flags{command};
  auto& no_merge = command.flag("no-merge", "Sets all of it anew instead.");
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word("<acl_role_id>"))) return *code;
  NOMAD_TRY(one_format(output));
  auto& api = *command.api;
  const auto& id = command.positional()[0];
  const auto path = "/v1/acl/role/" + segment(id);
  auto stored = NOMAD_TRY(api.get(path).within("Error when retrieving ACL role"));
  boost::json::object role{{"ID", id}};
  if (no_merge) {
    NOMAD_TRY(flags.suffice());
    role["Description"] = flags.description;
  } else {
    if (flags.policies.empty() && flags.name.empty() && flags.description.empty())
      return command.misuse("Please provide at least one flag to update the ACL role");
    role = without(std::move(stored.body), {"Hash"});
    set_if_given(role, "Description", flags.description);
  }
  set_if_given(role, "Name", flags.name);
  add_links(role["Policies"], flags.policies);
  const auto made = NOMAD_TRY(api.put(path, role).within("Error updating ACL role"));
  return show_acl(output, made.body, role_layout);
}

}  // namespace nomad::cli
