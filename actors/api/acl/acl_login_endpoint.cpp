// /v1/acl/auth-methods, …/auth-method/<name>, /v1/acl/binding-rules, …/binding-rule/<id>: how
// tokens are had by signing in elsewhere. That there is a method, everyone may know; what it is,
// who manages. A client secret is sealed here, and shown to nobody. Tests: acl_test,
// acl_secrets_test.
#include "actors/api/acl/acl_endpoint.hpp"

namespace nomad::api {
namespace {

namespace kind = state::kind;
using MethodRef = Object<schema::AclAuthMethod>;
using WrittenAcl = server::Written<cluster::AclDecision>;

void append_method_stub(std::string& out, schema::AclAuthMethod::Reader method) {
  JsonObject object{out};
  object.text("Name", method.getName())
      .text("Type", method.getType())
      .boolean("Default", method.getDefault());
  append_base64(object, "Hash", method.getHash());
  object.number("CreateIndex", method.getCreateIndex())
      .number("ModifyIndex", method.getModifyIndex());
}

Answer show_method(const MethodRef& method) {
  if (method->getSealed().size() == 0) return Answer::json(to_json(*method));
  Draft<schema::AclAuthMethod> draft{method};
  draft->getConfig().setOidcClientSecret(text(cluster::redacted));
  return Answer::json(to_json(draft.reader()));
}

/// What everybody may know of a method.
MethodRef public_part(const MethodRef& method) {
  Draft<schema::AclAuthMethod> draft;
  draft->setName(method->getName());
  draft->setType(method->getType());
  draft->setDefault(method->getDefault());
  draft->setHash(method->getHash());
  draft->setCreateIndex(method->getCreateIndex());
  draft->setModifyIndex(method->getModifyIndex());
  return draft.freeze();
}

/// Whoever is asked for his token by a client that has an old one still has to find the methods.
Outcome list_auth_methods(Call& call, const AclParts&) {
  call.asking.who = access::Authenticator::with_token(call.asking.who, "");
  return list_acl<kind::AclAuthMethods>(call, append_method_stub, public_part);
}

Outcome read_auth_method(Call& call, const AclParts&) {
  if (call.rest.empty()) return bad_request("missing ACL auth-method name");
  return read_state(call, [name = call.rest](const ReadOptions&) -> Result<Read> {
    return read_row<state::Table::acl_auth_methods>(
        name, "ACL auth-method",
        [name](const View& snapshot) { return snapshot.row<kind::AclAuthMethods>(name); },
        [](const View&, const MethodRef& method) { return show_method(method); });
  });
}

/// The client secret that a request brings, which is not in the method any more; empty if it brings
/// none.
SecretText take_client_secret(Draft<schema::AclAuthMethod>& wanted) {
  if (!wanted.reader().getConfig().hasOidcClientSecret()) return {};
  auto config = wanted->getConfig();
  if (view(config.asReader().getOidcClientSecret()) == cluster::redacted) return {};
  auto secret = take_secret(config.getOidcClientSecret());
  config.setOidcClientSecret("");
  return secret;
}

/// The root key and the sealed client secret; empty without one.
Result<MethodRef> seal_of(const AclParts& parts,
                          const Object<schema::RootKey>& key,
                          schema::AclAuthMethod::Reader wanted,
                          const SecretText& secret) {
  Draft<schema::AclAuthMethod> seal;
  if (secret.empty()) return seal.freeze();
  const auto sealed = NOMAD_TRY(
      parts.keyring->seal_secret(key, {auth_method_seal, view(wanted.getName())}, secret.reveal()));
  seal->setKeyId(key->getKeyId());
  seal->setSealed({reinterpret_cast<const unsigned char*>(sealed.data()), sealed.size()});
  return seal.freeze();
}

Outcome put_auth_method(Call& call, const AclParts& parts) {
  Draft<schema::AclAuthMethod> draft;
  NOMAD_TRY(read_draft(call, "ACL auth-method", draft));
  const auto secret = take_client_secret(draft);
  const auto wanted = draft.freeze();
  if (!call.rest.empty() && view(wanted->getName()) != call.rest)
    return bad_request("ACL auth-method name does not match request path");
  if (!parts.keyring || !call.context->state.store) return no_leader();
  const auto shared = share(std::move(call));
  with_root_key(shared, [shared, parts, wanted, secret](const Object<schema::RootKey>& key) {
    const auto seal = seal_of(parts, key, *wanted, secret);
    if (!seal) return shared->fail(seal.error().within("auth method error: encrypt"));
    shared->settle(write_acl(
        *shared,
        [wanted, seal = *seal, bounds = parts.options.bounds](const state::Snapshot& state,
                                                              const access::Asking& asking) {
          return cluster::decide_put_auth_method(state, asking, *wanted, *seal, bounds, unix_now());
        },
        [](const state::Snapshot& state, const WrittenAcl& done) {
          const auto row = state.row<kind::AclAuthMethods>(done.decision.id);
          return row ? show_method(row) : Answer::empty();
        }));
  });
  return later;
}

Outcome put_named_auth_method(Call& call, const AclParts& parts) {
  if (call.rest.empty()) return bad_request("missing ACL auth-method name");
  return put_auth_method(call, parts);
}

Outcome remove_auth_method(Call& call, const AclParts& parts) {
  if (call.rest.empty()) return bad_request("missing ACL auth-method name");
  return remove_named<kind::AclAuthMethods>(call, parts);
}

void append_rule_stub(std::string& out, schema::AclBindingRule::Reader rule) {
  JsonObject object{out};
  object.text("ID", rule.getId())
      .text("Description", rule.getDescription())
      .text("AuthMethod", rule.getAuthMethod());
  append_base64(object, "Hash", rule.getHash());
  object.number("CreateIndex", rule.getCreateIndex()).number("ModifyIndex", rule.getModifyIndex());
}

Outcome list_binding_rules(Call& call, const AclParts&) {
  return list_acl<kind::AclBindingRules>(call, append_rule_stub, whole_row);
}

Outcome read_binding_rule(Call& call, const AclParts&) {
  if (call.rest.empty()) return bad_request("missing ACL binding rule ID");
  return read_state(call, [id = call.rest](const ReadOptions&) -> Result<Read> {
    return read_row<state::Table::acl_binding_rules>(
        id, "ACL binding rule",
        [id](const View& snapshot) { return snapshot.row<kind::AclBindingRules>(id); }, whole);
  });
}

Outcome put_binding_rule(Call& call, const AclParts&) {
  Draft<schema::AclBindingRule> wanted{
      NOMAD_TRY(read_object<schema::AclBindingRule>(call, "ACL binding rule"))};
  if (wanted.reader().getId().size() == 0) wanted->setId(text(call.rest));
  if (!call.rest.empty() && view(wanted.reader().getId()) != call.rest)
    return bad_request("ACL binding rule ID does not match request path");
  return write_acl(
      call,
      [rule = wanted.freeze(), id = draw_uuid()](const state::Snapshot& state,
                                                 const access::Asking& asking) {
        return cluster::decide_put_binding_rule(state, asking, *rule, id, unix_now());
      },
      show_stored<kind::AclBindingRules>);
}

Outcome put_named_binding_rule(Call& call, const AclParts& parts) {
  if (call.rest.empty()) return bad_request("missing ACL binding rule ID");
  return put_binding_rule(call, parts);
}

Outcome remove_binding_rule(Call& call, const AclParts& parts) {
  if (call.rest.empty()) return bad_request("missing ACL binding rule ID");
  return remove_named<kind::AclBindingRules>(call, parts);
}

}  // namespace

void add_acl_login_routes(Routes& routes, AclParts parts) {
  constexpr auto manage = Capability::management;
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/acl/auth-methods",
               {{Methods::get, Capability::none, with(if_enabled<list_auth_methods>)}});
  routes.exact("/v1/acl/auth-method",
               {{Methods::write, manage, with(if_enabled<put_auth_method>), Where::authority}});
  routes.below(
      "/v1/acl/auth-method/",
      {{"",
        {{Methods::get, manage, with(if_enabled<read_auth_method>)},
         {Methods::write, manage, with(if_enabled<put_named_auth_method>), Where::authority},
         {Methods::remove, manage, with(if_enabled<remove_auth_method>), Where::authority}}}});
  routes.exact("/v1/acl/binding-rules",
               {{Methods::get, manage, with(if_enabled<list_binding_rules>)}});
  routes.exact("/v1/acl/binding-rule",
               {{Methods::write, manage, with(if_enabled<put_binding_rule>), Where::authority}});
  routes.below(
      "/v1/acl/binding-rule/",
      {{"",
        {{Methods::get, manage, with(if_enabled<read_binding_rule>)},
         {Methods::write, manage, with(if_enabled<put_named_binding_rule>), Where::authority},
         {Methods::remove, manage, with(if_enabled<remove_binding_rule>), Where::authority}}}});
}

}  // namespace nomad::api
