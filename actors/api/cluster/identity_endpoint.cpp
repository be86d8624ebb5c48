// /.well-known/jwks.json and /.well-known/openid-configuration: by which keys others verify the
// identities of tasks: of each root key one for Ed25519 and one for RS256. Open to everybody, as
// keys are.
#include "actors/api/cluster/identity_endpoint.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/access/login/jwt.hpp"
#include "runtime/identity/issue.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

/// For how long a set of keys may be kept. The next key is known for longer before it signs.
constexpr int kept_seconds = 900;

/// After how long to ask again for one that is being opened.
constexpr int seconds_to_open = 1;

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

/// A set without one that will be in it soon would be believed for as long as it may be kept. Who
/// is to open it, and why it does not yet, is nothing for everybody: the server's log says it.
Answer ask_again() {
  auto answer = Answer::error(
      {Errc::unavailable, "a key is being opened; ask again for the whole set in a second"});
  answer.status = net::status::service_unavailable;
  answer.headers
      = {{"Retry-After", fmt::format("{}", seconds_to_open)}, {"Cache-Control", "no-store"}};
  return answer;
}

/// Of the rows' keys, and how long the set is good.
class KeyList {
public:
  explicit KeyList(const identity::IssuingKeys& keys) : keys_{keys} {}

  /// Whether to go on.
  bool add(const Object<schema::RootKey>& row) {
    return add_one(
               keys_.for_others(row), [](const auto& key) -> auto& { return *key; })
           && add_one(keys_.own(row), [](const auto& key) { return key->verifying(); });
  }

  Answer answer() && {
    if (is_pending_) return ask_again();
    auto answer = Answer::json("{\"keys\":[" + list_ + "]}");
    answer.headers
        = is_whole_ && !list_.empty() ? may_be_kept() : net::Headers{{"Cache-Control", "no-store"}};
    return answer;
  }

private:
  template <class Key, class Shown>
  bool add_one(const Result<Key>& key, const Shown& shown) {
    if (key) {
      if (!list_.empty()) list_ += ',';
      append_key(list_, shown(*key));
    } else if (key.error().code == Errc::corrupt) {
      is_whole_ = false;  // It is not for this server, which could not verify by it either.
    } else {
      is_pending_ = true;
    }
    return !is_pending_;
  }

  const identity::IssuingKeys& keys_;
  std::string list_;
  bool is_whole_ = true;
  bool is_pending_ = false;
};

Answer show_keys(const View& snapshot, const identity::IssuingKeys& keys) {
  KeyList list{keys};
  snapshot.walk(&state::Snapshot::rows<state::kind::RootKeys>, {},
                [&](const auto& entry) { return list.add(entry.value()); });
  return std::move(list).answer();
}

/// An RSA key that this server has not made yet takes a while.
bool makes_keys(const View& snapshot, const identity::RsaKeyOf& keys) {
  bool makes = false;
  snapshot.walk(&state::Snapshot::rows<state::kind::RootKeys>, {}, [&](const auto& entry) {
    makes = keys.takes_long(entry.value());
    return !makes;
  });
  return makes;
}

Outcome list_verifying_keys(Call& call, const KeySet& set) {
  return read_state(call, [&set](const ReadOptions&) -> Result<Read> {
    return Read{
        .watch = {state::watch_prefix(state::Table::root_keys, "")},
        .index = index_from_one<state::Table::root_keys>,
        .answer = [keys = set.keys](const View& snapshot) { return show_keys(snapshot, keys); },
        .is_heavy = [keys = set.keys.for_others](
                        const View& snapshot) { return makes_keys(snapshot, keys); }};
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
