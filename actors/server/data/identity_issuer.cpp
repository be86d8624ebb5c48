#include "actors/server/data/identity_issuer.hpp"

#include <ratio>
#include <utility>

#include "actors/core/supervise.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/log.hpp"

namespace nomad::server {
namespace {

using namespace identity_issuer;

class IssuerState {
public:
  static constexpr const char* name = "identity_issuer";

  explicit IssuerState(IdentityIssuer::pointer) {}

  void init(identity::IssuingKeys keys, std::string issuer) {
    keys_ = std::move(keys);
    issuer_ = std::move(issuer);
  }

  Signed sign(const Sign& part) {
    Signed signed_part;
    signed_part.made.reserve(part.positions.size());
    const auto wanted = part.question->getSignIdentities();
    for (const auto position : part.positions) {
      const auto one = wanted[position];
      signed_part.made.push_back(identity::issue(part.state, keys_, part.node,
                                                 {.alloc_id = copy(one.getAllocId()),
                                                  .workload = copy(one.getTask()),
                                                  .is_service = one.getService(),
                                                  .name = copy(one.getName())},
                                                 issuer_, unix_now() / std::nano::den,
                                                 &signatures_));
    }
    return signed_part;
  }

  KeyMade make_key(const Object<schema::RootKey>& row) {
    if (const auto key = keys_.for_others(row); !key)
      log::warn("keyring", "could not make the RS256 key of a root key",
                {{"key", view(row->getKeyId())}, {"error", key.error()}});
    return {};
  }

private:
  identity::IssuingKeys keys_;
  std::string issuer_;
  identity::SignatureCache signatures_;
};

IdentityIssuer::behavior_type issuer_actor(IdentityIssuer::stateful_pointer<IssuerState> self,
                                           const identity::IssuingKeys& keys,
                                           const std::string& issuer) {
  self->state.init(keys, issuer);
  return {
      [self](const Sign& part) { return self->state.sign(part); },
      [self](const MakeKey& msg) { return self->state.make_key(msg.row); },
  };
}

}  // namespace

IdentityIssuer spawn_identity_issuer(const actor::Owner& owner,
                                     const identity::IssuingKeys& keys,
                                     const std::string& issuer,
                                     bool detached) {
  if (detached)
    return actor::spawn_detached<actor::Policy::restart>(owner, issuer_actor, keys, issuer);
  return actor::spawn<actor::Policy::restart>(owner, issuer_actor, keys, issuer);
}

}  // namespace nomad::server
