// /v1/acl/policies, …/policy/<name>, /v1/acl/roles, …/role, …/role/<id>, …/role/name/<name>:
// written by who manages, and read by him and those who have them. Tests: acl_test.
#include "actors/api/acl/acl_endpoint.hpp"
#include "runtime/access/policy/rights_cache.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

namespace kind = state::kind;

void append_policy_stub(std::string& out, schema::AclPolicy::Reader policy) {
  JsonObject object{out};
  object.text("Name", policy.getName()).text("Description", policy.getDescription());
  append_base64(object, "Hash", policy.getHash());
  object.number("CreateIndex", policy.getCreateIndex())
      .number("ModifyIndex", policy.getModifyIndex());
}

/// With the rules as they were read.
Answer show_policy(access::RightsCache& policies, const Object<schema::AclPolicy>& policy) {
  const auto rules = policies.read_policy(view(policy->getRules()));
  if (!rules) return Answer::error(rules.error());
  std::string out;
  {
    JsonObject object{out};
    object.members(*policy);
    object.raw("RulesJSON") += access::rules_json(**rules);
  }
  return Answer::json(std::move(out));
}

Outcome list_acl_policies(Call& call, const AclParts&) {
  return list_acl<kind::AclPolicies>(call, append_policy_stub, whole_row);
}

/// On the query pool: to read the rules of one, and to write them as JSON, takes a while.
Outcome read_acl_policy(Call& call, const AclParts& parts) {
  if (call.rest.empty()) return bad_request("Missing Policy Name");
  return read_state(
      call, [name = call.rest, policies = parts.policies](const ReadOptions&) -> Result<Read> {
        auto read = read_row<state::Table::acl_policies>(
            name, "ACL policy",
            [name](const View& snapshot) { return snapshot.row<kind::AclPolicies>(name); },
            [policies](const View&, const Object<schema::AclPolicy>& policy) {
              return show_policy(*policies, policy);
            });
        read.is_heavy = [](const View&) { return true; };
        return read;
      });
}

/// On the query pool: to read up to half a MiB of rules takes a while.
Outcome put_policy(Call& call, const AclParts&) {
  if (call.rest.empty()) return bad_request("Missing Policy Name");
  const auto policy = NOMAD_TRY(read_object<schema::AclPolicy>(call, "ACL policy"));
  if (view(policy->getName()) != call.rest)
    return bad_request("ACL policy name does not match request path");
  return on_pool(call, [policy](Call& here) {
    return write_acl(
        here,
        [policy](const state::Snapshot&, const access::Asking& asking) {
          return cluster::decide_put_policy(asking, *policy);
        },
        show_nothing);
  });
}

Outcome remove_policy(Call& call, const AclParts&) {
  if (call.rest.empty()) return bad_request("Missing Policy Name");
  return write_acl(
      call,
      [name = call.rest](const state::Snapshot& state, const access::Asking& asking) {
        return cluster::decide_delete_policy(state, asking, name);
      },
      show_nothing);
}

Outcome list_roles(Call& call, const AclParts&) {
  return list_acl<kind::AclRoles>(
      call, [](std::string& out, schema::AclRole::Reader role) { append_json(out, role); },
      whole_row);
}

/// Of the role that `find(view)` finds, which lies under `watched`.
template <class Find>
Outcome read_role_by(Call& call, std::string watched, Find find) {
  return read_state(call, [watched, find](const ReadOptions&) -> Result<Read> {
    auto read = read_row<state::Table::acl_roles>(watched, "ACL role", find, whole);
    if (watched.empty()) read.watch = {state::watch_prefix(state::Table::acl_roles, "")};
    return read;
  });
}

Outcome read_role(Call& call, const AclParts&) {
  constexpr std::string_view by_name = "name/";
  const std::string_view rest = call.rest;
  if (rest.empty()) return bad_request("missing ACL role ID");
  if (rest.find('/') == rest.npos)
    return read_role_by(call, call.rest, [id = call.rest](const View& snapshot) {
      return snapshot.row<kind::AclRoles>(id);
    });
  if (!rest.starts_with(by_name) || rest.find('/', by_name.size()) != rest.npos)
    return bad_request("invalid URI");
  if (rest == by_name) return bad_request("missing ACL role name");
  return read_role_by(call, "",
                      [name = std::string{rest.substr(by_name.size())}](const View& snapshot) {
                        return snapshot.acl_role_named(name);
                      });
}

/// A name that another role has is refused with 500, as Nomad's state refuses it.
Outcome refuse_taken_name(const Call& call, const Object<schema::AclRole>& wanted) {
  const auto& store = call.context->state.store;
  if (!store) return no_leader();
  if (wanted->getId().size() == 0) return later;
  const auto other = cluster::role_of_name(store->snapshot(), view(wanted->getName()));
  if (!other || other->getId() == wanted->getId()) return later;
  return Answer::text(net::status::internal_error,
                      "ACL role with name " + copy(wanted->getName()) + " already exists");
}

Outcome put_role(Call& call, const AclParts&) {
  const auto role = NOMAD_TRY(read_object<schema::AclRole>(call, "ACL role"));
  if (!call.rest.empty() && view(role->getId()) != call.rest)
    return bad_request("ACL role ID does not match request path");
  if (auto refused = NOMAD_TRY(refuse_taken_name(call, role))) return refused;
  return write_acl(
      call,
      [role, id = draw_uuid()](const state::Snapshot& state, const access::Asking& asking) {
        return cluster::decide_put_role(state, asking, *role, id);
      },
      show_stored<kind::AclRoles>);
}

/// Below a role there is nothing to write.
Outcome refuse_below(const Call& call) {
  const auto slash = call.rest.find('/');
  if (call.rest.empty()) return bad_request("missing ACL role ID");
  if (slash == std::string::npos) return later;
  if (call.rest.find('/', slash + 1) != std::string::npos) return bad_request("invalid URI");
  return Answer::text(net::status::method_not_allowed, "Invalid method");
}

Outcome put_named_role(Call& call, const AclParts& parts) {
  if (auto refused = NOMAD_TRY(refuse_below(call))) return refused;
  return put_role(call, parts);
}

Outcome remove_role(Call& call, const AclParts& parts) {
  if (auto refused = NOMAD_TRY(refuse_below(call))) return refused;
  return remove_named<kind::AclRoles>(call, parts);
}

}  // namespace

void add_acl_policy_routes(Routes& routes, AclParts parts) {
  constexpr auto manage = Capability::management;
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/acl/policies",
               {{Methods::get, Capability::none, with(if_enabled<list_acl_policies>)}});
  routes.below("/v1/acl/policy/",
               {{"",
                 {{Methods::get, Capability::none, with(if_enabled<read_acl_policy>)},
                  {Methods::write, manage, with(if_enabled<put_policy>), Where::authority},
                  {Methods::remove, manage, with(if_enabled<remove_policy>), Where::authority}}}});
  routes.exact("/v1/acl/roles", {{Methods::get, Capability::none, with(if_enabled<list_roles>)}});
  routes.exact("/v1/acl/role",
               {{Methods::write, manage, with(if_enabled<put_role>), Where::authority}});
  routes.below("/v1/acl/role/",
               {{"",
                 {{Methods::get, Capability::none, with(if_enabled<read_role>)},
                  {Methods::write, manage, with(if_enabled<put_named_role>), Where::authority},
                  {Methods::remove, manage, with(if_enabled<remove_role>), Where::authority}}}});
}

}  // namespace nomad::api
