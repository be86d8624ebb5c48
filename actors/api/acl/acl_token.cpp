#include "actors/api/acl/acl_token.hpp"

#include "actors/api/http/secret_answer.hpp"
#include "runtime/access/secret_hash.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {

namespace {

void append_roles(JsonObject& object, schema::AclToken::Reader token, const RoleName& name_of) {
  if (!token.hasRoles()) {
    object.null("Roles");
    return;
  }
  auto& out = object.raw("Roles");
  out += '[';
  const auto begin = out.size();
  for (const auto link : token.getRoles()) {
    const auto name = name_of(view(link.getId()));
    if (name.empty()) continue;
    if (out.size() != begin) out += ',';
    JsonObject{out}.text("ID", link.getId()).text("Name", name);
  }
  out += ']';
}

void append_ties(JsonObject& object, schema::AclToken::Reader token, const RoleName& name_of) {
  object.text("Name", token.getName()).text("Type", token.getType());
  if (token.hasPolicies())
    append_json_list(
        object.raw("Policies"), token.getPolicies(),
        [](std::string& out, capnp::Text::Reader name) { append_json_text(out, view(name)); });
  else
    object.null("Policies");
  append_roles(object, token, name_of);
  object.boolean("Global", token.getGlobal());
  append_base64(object, "Hash", token.getHash());
  append_time(object, "CreateTime", token.getCreateTime());
  append_time(object, "ExpirationTime", token.getExpirationTime());
  object.number("CreateIndex", token.getCreateIndex())
      .number("ModifyIndex", token.getModifyIndex());
}

}  // namespace

Result<FreshToken> draw_token(const AclParts& parts,
                              const Object<schema::RootKey>& key,
                              const SecretText& secret) {
  FreshToken fresh;
  fresh.secret = secret;
  const auto& text_of_secret = fresh.secret.reveal();
  const auto accessor = draw_uuid();
  const auto sealed
      = NOMAD_TRY(parts.keyring->seal_secret(key, {token_seal, accessor}, text_of_secret));
  Draft<schema::AclToken> draft;
  draft->setAccessorId(text(accessor));
  draft->setCreateTime(unix_now());
  draft->setSecretHash(cluster::data_of(access::secret_hash(text_of_secret)));
  draft->setKeyId(key->getKeyId());
  draft->setSealed({reinterpret_cast<const unsigned char*>(sealed.data()), sealed.size()});
  fresh.row = draft.freeze();
  return fresh;
}

RoleName role_names(const state::Snapshot& state) {
  return [state](std::string_view id) {
    const auto role = state.row<state::kind::AclRoles>(id);
    return role ? copy(role->getName()) : std::string{};
  };
}

void append_token_stub(std::string& out, schema::AclToken::Reader token, const RoleName& name_of) {
  JsonObject object{out};
  object.text("AccessorID", token.getAccessorId());
  append_ties(object, token, name_of);
}

void append_token(std::string& out,
                  schema::AclToken::Reader token,
                  const RoleName& name_of,
                  std::string_view secret) {
  JsonObject object{out};
  const auto ttl = token.getExpirationTtl();
  object.text("ExpirationTTL", ttl == 0 ? "" : format_duration(Nanoseconds{ttl}))
      .text("AccessorID", token.getAccessorId())
      .text("SecretID", secret);
  append_ties(object, token, name_of);
}

std::string room_for(schema::AclToken::Reader token) {
  std::string out;
  out.reserve(1024 + 8 * token.totalSize().wordCount * 4);
  return out;
}

Answer token_answer(schema::AclToken::Reader token,
                    const RoleName& name_of,
                    std::string_view secret) {
  auto out = room_for(token);
  append_token(out, token, name_of, secret);
  return secret_answer(net::status::ok, std::move(out));
}

Result<security::Secret> open_token(const AclParts& parts,
                                    const Object<schema::RootKey>& key,
                                    schema::AclToken::Reader token) {
  if (!parts.keyring) return no_leader();
  return parts.keyring->open_secret(key, {token_seal, view(token.getAccessorId())},
                                    token.getSealed());
}

Answer stored_token(const AclParts& parts,
                    const state::Snapshot& state,
                    const WrittenAcl& done,
                    const FreshToken& fresh) {
  const auto row = state.row<state::kind::AclTokens>(done.decision.id);
  if (!row) return Answer::empty();
  if (row->getAccessorId() == fresh.row->getAccessorId())
    return token_answer(*row, role_names(state), fresh.secret.reveal());
  const auto secret = open_token(parts, state.root_key(view(row->getKeyId())), *row);
  return token_answer(*row, role_names(state), secret ? secret->text() : std::string_view{});
}

}  // namespace nomad::api
