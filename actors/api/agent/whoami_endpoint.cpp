// GET /v1/acl/whoami: who a request's sender is, by what he has shown, and what that gives him;
// Nomad has it as a call between servers alone. Everybody may ask it about himself. Tests:
// whoami_test.
#include <optional>

#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/access/policy/policy.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/acl/held_token.hpp"

namespace nomad::api {
namespace {

using access::Grant;

/// Nothing: the token is not in this server's state.
using Token = std::optional<cluster::HeldToken>;

Token token_of(const Context& context, const Grant& grant) {
  if (grant.accessor.empty() || !context.state.store) return {};
  return cluster::held_token(context.state.store->snapshot(), grant.accessor);
}

std::string_view type_of(const access::Caller& caller, const Grant& grant, const Token& token) {
  if (caller.workload) return "workload";
  if (token) return token->type;
  if (!caller.token) return "anonymous";
  return grant.rights->form() == access::Rights::Form::everything ? "management" : "client";
}

void append_policy(std::string& out, const cluster::HeldPolicy& policy) {
  JsonObject object{out};
  object.number("ModifyIndex", policy.modify_index).text("Name", policy.name);
  object.text("Role", policy.role);
}

void append_role(std::string& out, const cluster::HeldRole& role) {
  JsonObject object{out};
  object.text("ID", role.id).text("Name", role.name);
}

/// Through which roles is known where the token is; the policies themselves wherever rights are.
std::vector<cluster::HeldPolicy> policies_of(const Grant& grant, const Token& token) {
  if (token) return token->policies;
  std::vector<cluster::HeldPolicy> policies;
  for (const auto& each : access::policies_of(*grant.rights))
    policies.push_back({.name = each.name, .modify_index = each.modify_index});
  return policies;
}

void append_grant(JsonObject& object, const Grant& grant, const Token& known) {
  const auto token = known.value_or(cluster::HeldToken{});
  object.text("AccessorID", grant.accessor).text("Name", token.name);
  object.boolean("Global", token.global);
  if (token.expires_at != 0)
    object.text("ExpirationTime", format_rfc3339(token.expires_at));
  else
    object.null("ExpirationTime");
  append_json_list(object.raw("Policies"), policies_of(grant, known), append_policy);
  append_json_list(object.raw("Roles"), token.roles, append_role);
}

void append_workload(JsonObject& object, const access::Caller& caller) {
  if (!caller.workload) {
    object.null("Workload");
    return;
  }
  JsonObject workload{object.raw("Workload")};
  workload.text("AllocID", caller.workload->alloc_id)
      .text("JobID", caller.workload->job_id)
      .text("Namespace", caller.workload->ns)
      .text("Task", caller.workload->task);
}

void append_limits(JsonObject& object, const access::Limits* limits) {
  if (limits == nullptr) {
    object.null("Limits");
    return;
  }
  std::vector<std::string> words;
  for (const auto word : fields(limits->text()))
    words.emplace_back(word);
  append_json_texts(object.raw("Limits"), words);
}

Answer describe(const Context& context, const access::Principal& who) {
  const auto& caller = who.caller();
  const auto& grant = *who.grant();
  const auto token = token_of(context, grant);
  JsonObject object;
  object.text("Type", type_of(caller, grant, token));
  append_grant(object, grant, token);
  object.text("NodeID", caller.node ? caller.node->id : std::string{});
  object.boolean("Server", caller.is_server());
  append_workload(object, caller);
  append_limits(object, who.limits());
  object.text("Remote", caller.remote);
  return Answer::json(object.take());
}

/// Not before he is looked up: a token that is none is nobody.
Outcome who_am_i(Call& call) {
  if (!call.context->authenticator->enforces()) return bad_request("ACL support disabled");
  with_rights(std::move(call),
              [](Call known) { known.send(describe(*known.context, known.asking.who)); });
  return later;
}

}  // namespace

void add_whoami_routes(Routes& routes) {
  routes.exact("/v1/acl/whoami", {{Methods::get, Capability::none, who_am_i, Where::server}});
}

}  // namespace nomad::api
