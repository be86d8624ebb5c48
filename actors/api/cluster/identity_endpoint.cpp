// /.well-known/jwks.json and /.well-known/openid-configuration: by which keys others verify the
// identities of tasks. Open to everybody, as keys are.
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
  identity::KeyOf keys;
  std::string issuer;
};

net::Headers may_be_kept() {
  return {{"Cache-Control", fmt::format("public, max-age={}", kept_seconds)}};
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
Answer show_keys(const View& snapshot, const identity::KeyOf& keys) {
  std::string list;
  snapshot.walk(&state::Snapshot::rows<state::kind::RootKeys>, {}, [&](const auto& entry) {
    if (const auto key = keys(entry.value())) {
      if (!list.empty()) list += ',';
      append_key(list, (*key)->verifying());
    }
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
        .answer = [keys = set.keys](const View& snapshot) { return show_keys(snapshot, keys); }};
  });
}

Outcome discover(Call&, const KeySet& set) {
  if (set.issuer.empty()) return Error{Errc::not_found, "OIDC Discovery endpoint disabled"};
  auto base = set.issuer;
  while (base.ends_with('/'))
    base.pop_back();
  JsonObject object;
  object.text("issuer", set.issuer).text("jwks_uri", base + "/.well-known/jwks.json");
  object.raw("id_token_signing_alg_values_supported") += "[\"EdDSA\"]";
  object.raw("response_types_supported") += "[\"code\"]";
  object.raw("subject_types_supported") += "[\"public\"]";
  auto answer = Answer::json(object.take());
  answer.headers = may_be_kept();
  return answer;
}

}  // namespace

void add_identity_routes(Routes& routes, const IdentityParts& parts) {
  const auto with = routes.with(KeySet{identity::signing_keys(parts.keyring), parts.issuer});
  routes.exact("/.well-known/jwks.json",
               {{Methods::get, Capability::none, with(list_verifying_keys)}});
  routes.exact("/.well-known/openid-configuration",
               {{Methods::get, Capability::none, with(discover), Where::server}});
}

}  // namespace nomad::api
