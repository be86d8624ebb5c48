// GET /v1/acl/explain: whether the sender of a request may do something, by which rules of which
// policies and through which roles he has these, and which rules came close. Nomad has nothing like
// it. Everybody may ask it about himself: the rules that it shows are of policies that he has.
// Tests: explain_test.
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/access/policy/policy.hpp"
#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/acl/held_token.hpp"

namespace nomad::api {
namespace {

struct Explained {
  Capability capability;
  access::Target target;  ///< Views into the request.
};

/// Policies have shorter words inside of their blocks: "mount-readwrite" of a host volume.
std::optional<Capability> word_in_block(const net::Request& request, std::string_view word) {
  for (const auto& [parameter, block] :
       {std::pair{"path", "variables-"}, std::pair{"node_pool", "node-pool-"},
        std::pair{"host_volume", "host-volume-"}, std::pair{"plugin", "plugin-"}})
    if (!request.parameter_or_empty(parameter).empty())
      if (const auto known = access::capability_of(block + std::string{word})) return known;
  return word.starts_with("mount-") ? access::capability_of("host-volume-" + std::string{word})
                                    : std::nullopt;
}

Result<Capability> asked_capability(const net::Request& request) {
  const auto word = request.parameter_or_empty("capability");
  if (word.empty()) return bad_request("missing capability, such as \"submit-job\"");
  if (const auto known = access::capability_of(word)) return *known;
  if (const auto known = word_in_block(request, word)) return *known;
  std::vector<std::string_view> words;
  for (int i = 1; i <= static_cast<int>(Capability::management); ++i)
    words.push_back(access::word_of(static_cast<Capability>(i)));
  const auto near = closest_word(word, words);
  return bad_request("unknown capability " + quote(word)
                     + (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
}

Result<Explained> asked_of(const net::Request& request) {
  if (!request.parameter_or_empty("accessor").empty())
    return bad_request("accessor is not taken: ask with the token itself");
  Explained asked{.capability = NOMAD_TRY(asked_capability(request)), .target = {}};
  if (access::is_namespaced(asked.capability)) {
    const auto ns = request.parameter_or_empty("namespace");
    asked.target.ns = ns.empty() ? "default" : ns;
  }
  asked.target.path = request.parameter_or_empty("path");
  asked.target.node_pool = request.parameter_or_empty("node_pool");
  asked.target.host_volume = request.parameter_or_empty("host_volume");
  asked.target.plugin = request.parameter_or_empty("plugin");
  const auto word = access::word_of(asked.capability);
  const auto misses = [&](std::string_view prefix, std::string_view given) {
    return word.starts_with(prefix) && given.empty();
  };
  if (misses("variables-", asked.target.path)) return bad_request("missing path of the variable");
  if (misses("node-pool-", asked.target.node_pool)) return bad_request("missing node_pool");
  if (misses("host-volume-", asked.target.host_volume)) return bad_request("missing host_volume");
  return asked;
}

/// The roles through which a caller has a policy, by its name; none where it is his own.
using RolesOfPolicies = std::map<std::string, std::vector<std::string>, std::less<>>;

RolesOfPolicies roles_of_policies(const Context& context, const access::Grant& grant) {
  RolesOfPolicies roles;
  if (grant.accessor.empty() || !context.state.store) return roles;
  const auto token = cluster::held_token(context.state.store->snapshot(), grant.accessor);
  if (!token) return roles;
  for (const auto& policy : token->policies)
    if (!policy.role.empty()) roles[policy.name].push_back(policy.role);
  return roles;
}

void append_note(std::string& out, const access::RuleNote& note, const RolesOfPolicies& roles) {
  JsonObject object{out};
  object.number("Line", note.line).text("Note", note.note).text("Policy", note.policy);
  const auto through = roles.find(note.policy);
  append_json_texts(object.raw("Roles"),
                    through == roles.end() ? std::vector<std::string>{} : through->second);
  object.text("Rule", note.rule);
}

Answer explain(const Context& context, const access::Principal& who, const Explained& asked) {
  auto why = access::explain(*who.grant()->rights, asked.capability, asked.target);
  const auto* const limits = who.limits();
  if (why.is_allowed && limits != nullptr && !limits->allow(asked.capability, asked.target))
    why.reason = "the caller is kept from it by his limits: " + limits->text();
  const auto roles = roles_of_policies(context, *who.grant());
  const auto append
      = [&roles](std::string& out, const access::RuleNote& note) { append_note(out, note, roles); };
  JsonObject object;
  object.boolean("Allowed", authorize(who, asked.capability, asked.target).has_value());
  object.text("Capability", access::word_of(asked.capability));
  append_json_list(object.raw("Close"), why.close, append);
  object.text("HostVolume", asked.target.host_volume).text("Namespace", asked.target.ns);
  object.text("NodePool", asked.target.node_pool).text("Path", asked.target.path);
  object.text("Plugin", asked.target.plugin).text("Reason", why.reason);
  append_json_list(object.raw("Rules"), why.deciding, append);
  return Answer::json(object.take());
}

/// Not before he is looked up: a token that is none is nobody.
Outcome explain_rights(Call& call) {
  if (!call.context->authenticator->enforces()) return bad_request("ACL support disabled");
  NOMAD_TRY(asked_of(call.request()));
  with_rights(std::move(call), [](Call known) {
    const auto asked = asked_of(known.request());
    known.send(asked ? explain(*known.context, known.asking.who, *asked)
                     : Answer::error(asked.error()));
  });
  return later;
}

}  // namespace

void add_explain_routes(Routes& routes) {
  routes.exact("/v1/acl/explain",
               {{Methods::get, Capability::none, explain_rights, Where::server}});
}

}  // namespace nomad::api
