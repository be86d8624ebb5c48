#include "actors/server/data/identity_endpoint.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/log.hpp"
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

/// There are keys to make.
struct MakeKey {
  using is_message = void;
};

/// Says nothing of the other identities that are asked for with it.
bool is_of_one(const Error& why) {
  return why.code == Errc::not_found || why.code == Errc::corrupt;
}

using IdentitySelf = actor::WithInternal<NodeDoor, void(SignMore), void(MakeKey)>;

class IdentityState {
public:
  static constexpr const char* name = "identity_endpoint";

  explicit IdentityState(IdentitySelf::pointer self) : self_{self} {}

  void init(std::shared_ptr<state::Store> store,
            identity::IssuingKeys keys,
            std::shared_ptr<const raft::LeaderLease> lease,
            const IdentityEndpointOptions& options) {
    store_ = std::move(store);
    keys_ = std::move(keys);
    lease_ = std::move(lease);
    issuer_ = options.issuer;
    if (options.makes_keys) look_for_keys();
  }

  actor::Answer<door::Reply> answer(const door::Ask& msg) {
    if (!msg->isSignIdentities())
      return Error{Errc::internal, "that question is not the identity endpoint's"};
    const std::size_t size = msg->getSignIdentities().size();
    if (size > most_identities)
      return Error{Errc::too_large, "too many identities are asked for at once"};
    const auto node = msg.subject();
    if (const auto former = of_node_.find(node); former != of_node_.end())
      finish(former->second, Error{Errc::cancelled, "the node has asked anew"});
    if (waiting_ + weight_of(msg) > most_waiting)
      return Error{Errc::overloaded, "too many identities wait to be signed; try again"};
    waiting_ += weight_of(msg);
    questions_.push_back({.ask = msg, .node = node, .since = self_->now()});
    const auto question = std::prev(questions_.end());
    of_node_.insert_or_assign(node, question);
    question->promise = self_->make_response_promise<door::Reply>();
    const auto promise = question->promise;
    if (!is_turn_coming_) sign_more();
    return promise;
  }

  /// Signs a part of the oldest question.
  void sign_more() {
    is_turn_coming_ = false;
    drop_late();
    if (questions_.empty()) return;
    sign_part(questions_.begin());
    if (questions_.empty()) return;
    is_turn_coming_ = true;
    actor::send_self(self_, SignMore{});
  }

  /// Of those that were found missing: one in a turn, so that questions come in between.
  void make_key() {
    if (to_make_.empty()) return;
    const auto row = std::move(to_make_.back());
    to_make_.pop_back();
    if (const auto key = keys_.for_others(row); !key)
      log::warn("keyring", "could not make the RS256 key of a root key",
                {{"key", view(row->getKeyId())}, {"error", key.error()}});
    if (!to_make_.empty()) actor::send_self(self_, MakeKey{});
  }

private:
  struct Question {
    door::Ask ask;
    std::string node;
    std::chrono::steady_clock::time_point since{};  ///< When it came.
    actor::Promise<door::Reply> promise{};
    std::optional<state::Snapshot> state{};  ///< Since it was its turn.
    std::vector<Result<identity::Issued>> made{};
  };

  using Questions = std::list<Question>;  ///< The oldest first.

  static std::size_t weight_of(const door::Ask& ask) {
    return std::max<std::size_t>(ask->getSignIdentities().size(), 1);
  }

  /// Nobody waits for their answers much longer: what is signed for them is lost, and the next
  /// question would be late for that.
  void drop_late() {
    while (!questions_.empty() && self_->now() - questions_.front().since >= signing_patience)
      finish(questions_.begin(),
             Error{Errc::unavailable, fmt::format("the identities were not signed within {} s, for "
                                                  "too many are asked for; try again",
                                                  signing_patience.count())});
  }

  void sign_part(Questions::iterator question) {
    if (!question->state) question->state = store_->snapshot();
    const auto wanted = question->ask->getSignIdentities();
    auto& made = question->made;
    for (std::size_t cost = 0; cost < signed_at_once && made.size() < wanted.size();) {
      auto one = sign(*question, wanted[static_cast<unsigned>(made.size())]);
      if (!one && !is_of_one(one.error())) return finish(question, one.error());
      cost += one && one->is_rsa_made ? rsa_counts : 1;
      made.push_back(std::move(one));
    }
    if (made.size() == wanted.size()) finish(question, reply_of(*question));
  }

  /// Keys are made before anybody asks for them: now, and whenever there is a new one.
  void look_for_keys() {
    new_keys_
        = store_->watches().subscribe({state::watch_prefix(state::Table::root_keys, "")},
                                      actor::turns_of(self_).callback([this] { look_for_keys(); }));
    const bool is_coming = !to_make_.empty();
    to_make_.clear();
    const auto snapshot = store_->snapshot();
    for (const auto& entry : snapshot.rows<state::kind::RootKeys>().all())
      if (keys_.for_others.takes_long(entry.value())) to_make_.push_back(entry.value());
    if (!to_make_.empty() && !is_coming) actor::send_self(self_, MakeKey{});
  }

  Result<identity::Issued> sign(const Question& question,
                                schema::door::IdentityQuery::Reader wanted) {
    return identity::issue(*question.state, keys_, question.node,
                           {.alloc_id = copy(wanted.getAllocId()),
                            .workload = copy(wanted.getTask()),
                            .is_service = wanted.getService(),
                            .name = copy(wanted.getName())},
                           issuer_, unix_now() / ns_per_second, &signatures_);
  }

  static door::Reply reply_of(const Question& question) {
    return door::make_reply(question.state->index(), [&](auto& reply) {
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

  /// Answers a question, which is none any more.
  void finish(Questions::iterator question, Result<door::Reply> answer) {
    NOMAD_FAILPOINT("server.identities_signed");
    if (lease_ && !lease_->holds()) answer = no_leader();  // Asked after the snapshot was taken.
    actor::answer(question->promise, std::move(answer));
    waiting_ -= weight_of(question->ask);
    of_node_.erase(question->node);
    questions_.erase(question);
  }

  IdentitySelf::pointer self_;
  std::shared_ptr<state::Store> store_;
  identity::IssuingKeys keys_;
  identity::SignatureCache signatures_;
  std::shared_ptr<const raft::LeaderLease> lease_;  ///< None: always ours.
  std::string issuer_;
  Questions questions_;
  std::map<std::string, Questions::iterator> of_node_;
  std::size_t waiting_ = 0;                       ///< Sum of the questions' weights.
  bool is_turn_coming_ = false;                   ///< A SignMore; there is no other.
  std::vector<Object<schema::RootKey>> to_make_;  ///< While it is not empty, a MakeKey is coming.
  state::Watches::Subscription new_keys_;
};

IdentitySelf::behavior_type identity_endpoint(IdentitySelf::stateful_pointer<IdentityState> self,
                                              const std::shared_ptr<state::Store>& store,
                                              const identity::IssuingKeys& keys,
                                              const std::shared_ptr<const raft::LeaderLease>& lease,
                                              const IdentityEndpointOptions& options) {
  self->state.init(store, keys, lease, options);
  return {
      [self](const door::Ask& msg) { return self->state.answer(msg); },
      [self](SignMore) { self->state.sign_more(); },
      [self](MakeKey) { self->state.make_key(); },
  };
}

}  // namespace

NodeDoor spawn_identity_endpoint(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 identity::IssuingKeys keys,
                                 std::shared_ptr<const raft::LeaderLease> lease,
                                 IdentityEndpointOptions options) {
  if (!options.detached)
    return actor::spawn<actor::Policy::restart>(owner, identity_endpoint, std::move(store),
                                                std::move(keys), std::move(lease),
                                                std::move(options));
  return actor::spawn_detached<actor::Policy::restart>(owner, identity_endpoint, std::move(store),
                                                       std::move(keys), std::move(lease),
                                                       std::move(options));
}

}  // namespace nomad::server
