// Tokens as the API makes and shows them. A secret is drawn, sealed and opened here, on the agent
// that serves the request. Tests: acl_test.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "actors/api/acl/acl_endpoint.hpp"

namespace nomad::api {

using TokenRef = Object<schema::AclToken>;
using WrittenAcl = server::Written<cluster::AclDecision>;

/// A token's new accessor and seal, and the secret itself.
struct FreshToken {
  TokenRef row;
  SecretText secret;
};

Result<FreshToken> draw_token(const AclParts& parts,
                              const Object<schema::RootKey>& key,
                              const SecretText& secret);

/// The names of a token's roles as they are now, without those that are gone.
using RoleName = std::function<std::string(std::string_view id)>;

RoleName role_names(const state::Snapshot& state);

void append_token_stub(std::string& out, schema::AclToken::Reader token, const RoleName& name_of);

void append_token(std::string& out,
                  schema::AclToken::Reader token,
                  const RoleName& name_of,
                  std::string_view secret);

/// Room for a token and its secret, so that nothing of it is left elsewhere.
std::string room_for(schema::AclToken::Reader token);

Answer token_answer(schema::AclToken::Reader token,
                    const RoleName& name_of,
                    std::string_view secret);

Result<security::Secret> open_token(const AclParts& parts,
                                    const Object<schema::RootKey>& key,
                                    schema::AclToken::Reader token);

/// As it is stored now, with the secret that was drawn, or, of one that was there, opened. One that
/// does not open, as after a restore on other servers, is left out: the change has been made.
Answer stored_token(const AclParts& parts,
                    const state::Snapshot& state,
                    const WrittenAcl& done,
                    const FreshToken& fresh);

/// Draws a token with this secret, and writes what `decide(state, asking, fresh)` decides.
/// `written` is called then, whoever still waits for the answer.
template <class Decide>
Outcome write_token(
    Call& call,
    const AclParts& parts,
    const SecretText& secret,
    Decide decide,
    std::function<void()> written = [] {}) {
  if (!parts.keyring || !call.context->state.store) return no_leader();
  const auto shared = share(std::move(call));
  with_root_key(shared, [shared, parts, secret, decide,
                         written](const Object<schema::RootKey>& key) {
    auto fresh = draw_token(parts, key, secret);
    if (!fresh) return shared->fail(fresh.error().within("token error: encrypt"));
    shared->settle(write_and(
        *shared,
        [decide, row = fresh->row](const state::Snapshot& state, const access::Asking& asking,
                                   const cluster::EvalSeed&) { return decide(state, asking, row); },
        [written](const WrittenAcl&) { written(); },
        [context = shared->context, parts, fresh = *fresh](const WrittenAcl& done) {
          const auto state = context->state.store->snapshot();
          return stored_token(parts, state, done, fresh).with_index(done.index);
        }));
  });
  return later;
}

}  // namespace nomad::api
