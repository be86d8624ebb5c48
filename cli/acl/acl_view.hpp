// What the commands about access have in common: how tokens, roles and the rest are shown, and
// lists and deletions, which differ in words alone.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cli/api_command.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"

namespace nomad::cli {

/// A list of objects, shown as a table.
struct AclList {
  std::string usage;    ///< "acl role list [options]"
  std::string about;    ///< For its help.
  std::string path;     ///< "/v1/acl/roles"
  std::string objects;  ///< "ACL roles"
  std::string none;     ///< What is shown if there are none.
  Row columns;
  Row (*row)(const View& object);
};

Result<int> list_acl(const AclList& list, const std::vector<std::string>& arguments);

/// A deletion of one object.
struct AclDeletion {
  std::string usage;  ///< "acl role delete [options] <acl_role_id>"
  std::string about;
  std::string argument;  ///< "<acl_role_id>"
  std::string path;      ///< "/v1/acl/role/"
  std::string object;    ///< "ACL role"
  std::string done;      ///< What is said then, with the name or id as {}.
};

Result<int> delete_acl(const AclDeletion& deletion, const std::vector<std::string>& arguments);

/// What a command shows of one object: its own layout, or what -json and -t ask for.
int show_acl(const OutputFlags& output,
             const boost::json::value& object,
             std::string (*layout)(const View&));

/// The same of what was made a moment ago: whatever is wrong with -t, the object is shown, because
/// the secret of a token is shown no second time.
int show_made(const OutputFlags& output,
              const boost::json::value& object,
              std::string (*layout)(const View&));

/// Whether -json and -t exclude each other here, which has to be known before anything is made.
Result<> one_format(const OutputFlags& output);

std::string token_layout(const View& token);
std::string policy_layout(const View& policy);
std::string role_layout(const View& role);
std::string auth_method_layout(const View& method);
std::string binding_rule_layout(const View& rule);

/// "2026-01-02 03:04:05.6 +0000 UTC", as Go shows an instant; `otherwise` if there is none.
std::string go_time(const View& rfc3339, std::string_view otherwise);

/// The names of a role's policies, sorted.
std::vector<std::string> policy_names(const View& role);

/// Takes a member over if a flag gave it a value.
void set_if_given(boost::json::object& object, std::string_view name, const std::string& value);

/// Without what only the server sets or derives.
boost::json::object without(boost::json::value object,
                            std::initializer_list<std::string_view> names);

/// Of a flag: "30m" as an amount; the error is Go's.
Result<std::int64_t> ttl_of_flag(std::string_view flag, const std::string& text);

}  // namespace nomad::cli
