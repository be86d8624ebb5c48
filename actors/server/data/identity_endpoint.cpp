#include "actors/server/data/identity_endpoint.hpp"

#include <deque>
#include <utility>
#include <vector>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {
namespace {

/// What is signed in one turn takes about 2 ms: so many by Ed25519, and one by RS256 counts as
/// many.
constexpr std::size_t signed_at_once = 64;
constexpr std::size_t rsa_counts = 32;

constexpr std::int64_t ns_per_second = 1'000'000'000;

/// There is more to sign.
struct SignMore {
  using is_message = void;
};

/// Says nothing of the other identities that are asked for with it.
bool is_of_one(const Error& why) {
  return why.code == Errc::not_found || why.code == Errc::corrupt;
}

using IdentitySelf = actor::WithInternal<NodeDoor, void(SignMore)>;

class IdentityState {
public:
  static constexpr const char* name = "identity_endpoint";

  explicit IdentityState(IdentitySelf::pointer self) : self_{self} {}

  void init(std::shared_ptr<state::Store> store,
            identity::IssuingKeys keys,
            std::shared_ptr<const raft::LeaderLease> lease,
            std::string issuer) {
    store_ = std::move(store);
    keys_ = std::move(keys);
    lease_ = std::move(lease);
    issuer_ = std::move(issuer);
  }

  actor::Answer<door::Reply> answer(const door::Ask& msg) {
    if (!msg->isSignIdentities())
      return Error{Errc::internal, "that question is not the identity endpoint's"};
    if (msg->getSignIdentities().size() > most_identities)
      return Error{Errc::too_large, "too many identities are asked for at once"};
    Question question{.ask = msg, .state = store_->snapshot()};
    question.promise = self_->make_response_promise<door::Reply>();
    const auto promise = question.promise;
    questions_.push_back(std::move(question));
    if (questions_.size() == 1) sign_more();
    return promise;
  }

  void sign_more() {
    if (questions_.empty()) return;
    auto& question = questions_.front();
    const auto wanted = question.ask->getSignIdentities();
    for (std::size_t cost = 0; cost < signed_at_once && question.made.size() < wanted.size();) {
      auto made = sign(question, wanted[static_cast<unsigned>(question.made.size())]);
      if (!made && !is_of_one(made.error())) return finish(made.error());
      cost += made && made->is_rsa_made ? rsa_counts : 1;
      question.made.push_back(std::move(made));
    }
    if (question.made.size() == wanted.size()) return finish(reply_of(question));
    actor::send_self(self_, SignMore{});
  }

private:
  struct Question {
    door::Ask ask;
    state::Snapshot state;
    actor::Promise<door::Reply> promise{};
    std::vector<Result<identity::Issued>> made{};
  };

  Result<identity::Issued> sign(const Question& question,
                                schema::door::IdentityQuery::Reader wanted) {
    return identity::issue(question.state, keys_, question.ask.subject(),
                           {.alloc_id = copy(wanted.getAllocId()),
                            .workload = copy(wanted.getTask()),
                            .is_service = wanted.getService(),
                            .name = copy(wanted.getName())},
                           issuer_, unix_now() / ns_per_second, &signatures_);
  }

  static door::Reply reply_of(const Question& question) {
    return door::make_reply(question.state.index(), [&](auto& reply) {
      auto list = reply.initIdentities(static_cast<unsigned>(question.made.size()));
      for (unsigned i = 0; i < list.size(); ++i) {
        const auto& made = question.made[i];
        if (!made) {
          list[i].setRefused(text(made.error().what));
          continue;
        }
        list[i].setToken(text(made->token));
        list[i].setIssuedAt(made->issued_at * ns_per_second);
        list[i].setExpiresAt(made->expires_at * ns_per_second);
      }
    });
  }

  /// Answers the first question, and begins with the next one.
  void finish(Result<door::Reply> answer) {
    NOMAD_FAILPOINT("server.identities_signed");
    if (lease_ && !lease_->holds()) answer = no_leader();  // Asked after the snapshot was taken.
    actor::answer(questions_.front().promise, std::move(answer));
    questions_.pop_front();
    if (!questions_.empty()) actor::send_self(self_, SignMore{});
  }

  IdentitySelf::pointer self_;
  std::shared_ptr<state::Store> store_;
  identity::IssuingKeys keys_;
  identity::SignatureCache signatures_;
  std::shared_ptr<const raft::LeaderLease> lease_;  ///< None: always ours.
  std::string issuer_;
  std::deque<Question> questions_;
};

IdentitySelf::behavior_type identity_endpoint(IdentitySelf::stateful_pointer<IdentityState> self,
                                              const std::shared_ptr<state::Store>& store,
                                              const identity::IssuingKeys& keys,
                                              const std::shared_ptr<const raft::LeaderLease>& lease,
                                              const std::string& issuer) {
  self->state.init(store, keys, lease, issuer);
  return {
      [self](const door::Ask& msg) { return self->state.answer(msg); },
      [self](SignMore) { self->state.sign_more(); },
  };
}

}  // namespace

NodeDoor spawn_identity_endpoint(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 identity::IssuingKeys keys,
                                 std::shared_ptr<const raft::LeaderLease> lease,
                                 std::string issuer,
                                 bool detached) {
  if (!detached)
    return actor::spawn<actor::Policy::restart>(owner, identity_endpoint, std::move(store),
                                                std::move(keys), std::move(lease),
                                                std::move(issuer));
  return actor::spawn_detached<actor::Policy::restart>(owner, identity_endpoint, std::move(store),
                                                       std::move(keys), std::move(lease),
                                                       std::move(issuer));
}

}  // namespace nomad::server
