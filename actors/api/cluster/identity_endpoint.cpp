// /.well-known/jwks.json and /.well-known/openid-configuration: by which keys others verify the
// identities of tasks: of each root key one for Ed25519 and one for RS256. Open to everybody, as
// keys are.
#include "actors/api/cluster/identity_endpoint.hpp"

#include <string>

#include <fmt/format.h>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/access/login/jwt.hpp"
#include "runtime/identity/issue.hpp"

namespace nomad::api {
namespace {

/// For how long a set of keys may be kept. The next key is known for longer before it signs.
constexpr int kept_seconds = 900;

struct KeySet {
  identity::IssuingKeys keys;
  std::string issuer;
};

net::Headers may_be_kept() {
  return {{"Cache-Control", fmt::format("public, max-age={}", kept_seconds)}};
}

void append_key(std::string& out, const identity::RsaKey& key) {
  JsonObject{out}
      .text("use", "sig")
      .text("kty", "RSA")
      .text("kid", key.id())
      .text("alg", identity::rsa_algorithm)
      .text("n", access::encode_jwt_part(key.modulus()))
      .text("e", access::encode_jwt_part(key.exponent()));
}

void append_key(std::string& out, const identity::VerifyingKey& key) {
  JsonObject{out}
      .text("use", "sig")
      .text("kty", "OKP")
      .text("kid", key.id)
      .text("crv", "Ed25519")
      .text("alg", identity::ed25519_algorithm)
      .text("x", access::encode_jwt_part(
                     {reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()}));
}

/// Those that this server cannot open are left out: it could not verify by them either.
Answer show_keys(const View& snapshot, const identity::IssuingKeys& keys) {
  std::string list;
  const auto add = [&list](const auto& key) {
    if (!list.empty()) list += ',';
    append_key(list, key);
  };
  snapshot.walk(&state::Snapshot::rows<state::kind::RootKeys>, {}, [&](const auto& entry) {
    if (const auto key = keys.for_others(entry.value())) add(**key);
    if (const auto key = keys.own(entry.value())) add((*key)->verifying());
    return true;
  });
  auto answer = Answer::json("{\"keys\":[" + list + "]}");
  answer.headers = may_be_kept();
  return answer;
}

Outcome list_verifying_keys(Call& call, const KeySet& set) {
  return read_state(call, [&set](const ReadOptions&) -> Result<Read> {
    return Read{
        .watch = {state::watch_prefix(state::Table::root_keys, "")},
        .index = index_from_one<state::Table::root_keys>,
        .answer = [keys = set.keys](const View& snapshot) { return show_keys(snapshot, keys); },
        // An RSA key that was not asked for before takes a while to be made.
        .is_heavy = [](const View&) { return true; }};
  });
}

Outcome discover(Call&, const KeySet& set) {
  if (set.issuer.empty()) return Error{Errc::not_found, "OIDC Discovery endpoint disabled"};
  auto base = set.issuer;
  while (base.ends_with('/'))
    base.pop_back();
  JsonObject object;
  object.text("issuer", set.issuer).text("jwks_uri", base + "/.well-known/jwks.json");
  object.raw("id_token_signing_alg_values_supported") += "[\"RS256\",\"EdDSA\"]";
  object.raw("response_types_supported") += "[\"code\"]";
  object.raw("subject_types_supported") += "[\"public\"]";
  auto answer = Answer::json(object.take());
  answer.headers = may_be_kept();
  return answer;
}

}  // namespace

void add_identity_routes(Routes& routes, const IdentityParts& parts) {
  auto rsa_keys = parts.rsa_keys ? parts.rsa_keys : identity::rsa_keys(parts.keyring);
  const auto with = routes.with(
      KeySet{{identity::signing_keys(parts.keyring), std::move(rsa_keys)}, parts.issuer});
  routes.exact("/.well-known/jwks.json",
               {{Methods::get, Capability::none, with(list_verifying_keys)}});
  routes.exact("/.well-known/openid-configuration",
               {{Methods::get, Capability::none, with(discover), Where::server}});
}

}  // namespace nomad::api
