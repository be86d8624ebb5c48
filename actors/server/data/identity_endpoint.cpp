#include "actors/server/data/identity_endpoint.hpp"

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/data/identity_issuer.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/state/store.hpp"

namespace nomad::server {
namespace {

/// That one issuer signs at a time: some 2 ms by Ed25519, 30 by RS256. Between parts it is looked
/// at who still waits, and whether the lease holds.
constexpr std::size_t signed_at_once = 64;

constexpr std::int64_t ns_per_second = 1'000'000'000;

/// More than an issuer ever takes, who may have a key to make first.
constexpr std::chrono::seconds issuer_patience = 2 * signing_patience;

/// Says nothing of the other identities that are asked for with it.
bool is_of_one(const Error& why) {
  return why.code == Errc::not_found || why.code == Errc::corrupt;
}

class IdentityState {
public:
  static constexpr const char* name = "identity_endpoint";

  explicit IdentityState(NodeDoor::pointer self) : self_{self} {}

  void init(std::shared_ptr<state::Store> store,
            identity::IssuingKeys keys,
            std::shared_ptr<const raft::LeaderLease> lease,
            const IdentityEndpointOptions& options) {
    store_ = std::move(store);
    lease_ = std::move(lease);
    for_others_ = keys.for_others;
    for (std::size_t i = 0; i < std::max<std::size_t>(options.issuers, 1); ++i)
      issuers_.push_back(spawn_identity_issuer(self_, keys, options.issuer, options.detached));
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
    questions_.push_back({.number = ++newest_, .ask = msg, .node = node, .since = self_->now()});
    const auto question = std::prev(questions_.end());
    of_node_.insert_or_assign(node, question);
    question->promise = self_->make_response_promise<door::Reply>();
    const auto promise = question->promise;
    if (parts_out_ == 0) sign_more();
    return promise;
  }

private:
  struct Question {
    std::uint64_t number = 0;
    door::Ask ask;
    std::string node;
    std::chrono::steady_clock::time_point since{};  ///< When it came.
    actor::Promise<door::Reply> promise{};
    std::optional<state::Snapshot> state{};  ///< Since it was its turn.
    std::size_t begun = 0;                   ///< So many are signed, or out to be.
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

  /// Has a part of the oldest question signed, once none is out.
  void sign_more() {
    drop_late();
    while (!questions_.empty() && parts_out_ == 0)
      if (lease_ && !lease_->holds())
        finish(questions_.begin(), no_leader());
      else
        sign_part(questions_.begin());
  }

  /// An allocation's identities are always one issuer's, who keeps their signatures.
  void sign_part(Questions::iterator question) {
    if (!question->state) {
      question->state = store_->snapshot();
      question->made.assign(question->ask->getSignIdentities().size(), identity::Issued{});
    }
    const auto wanted = question->ask->getSignIdentities();
    const auto size = question->made.size();
    if (question->begun == size) return finish(question, reply_of(*question));
    std::vector<std::vector<unsigned>> positions(issuers_.size());
    const auto end = std::min(size, question->begun + signed_at_once * issuers_.size());
    for (; question->begun < end; ++question->begun) {
      const auto position = static_cast<unsigned>(question->begun);
      const auto issuer = std::hash<std::string_view>{}(view(wanted[position].getAllocId()));
      positions[issuer % issuers_.size()].push_back(position);
    }
    for (std::size_t i = 0; i < issuers_.size(); ++i)
      if (!positions[i].empty()) send_part(*question, i, std::move(positions[i]));
  }

  void send_part(const Question& question, std::size_t issuer, std::vector<unsigned> positions) {
    ++parts_out_;
    self_
        ->request(issuers_[issuer], issuer_patience,
                  identity_issuer::Sign{*question.state, question.ask, question.node, positions})
        .then(
            [this, number = question.number, positions](identity_issuer::Signed& part) {
              --parts_out_;
              take(number, positions, part);
              sign_more();
            },
            [this, number = question.number](const Error& why) {
              --parts_out_;
              if (const auto of = find(number); of != questions_.end()) finish(of, why);
              sign_more();
            });
  }

  /// The question whose part is out: the oldest, unless that has been answered meanwhile.
  Questions::iterator find(std::uint64_t number) {
    const bool is_open = !questions_.empty() && questions_.front().number == number;
    return is_open ? questions_.begin() : questions_.end();
  }

  void take(std::uint64_t number,
            const std::vector<unsigned>& positions,
            identity_issuer::Signed& part) {
    const auto question = find(number);
    if (question == questions_.end()) return;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      auto& one = part.made[i];
      if (!one && !is_of_one(one.error())) return finish(question, one.error());
      question->made[positions[i]] = std::move(one);
    }
  }

  /// Keys are made before anybody asks for them: now, and whenever there is a new one.
  void look_for_keys() {
    new_keys_
        = store_->watches().subscribe({state::watch_prefix(state::Table::root_keys, "")},
                                      actor::turns_of(self_).callback([this] { look_for_keys(); }));
    to_make_.clear();
    const auto snapshot = store_->snapshot();
    for (const auto& entry : snapshot.rows<state::kind::RootKeys>().all())
      if (for_others_.takes_long(entry.value())) to_make_.push_back(entry.value());
    make_key();
  }

  /// One at a time, so that parts of questions come in between.
  void make_key() {
    if (is_making_ || to_make_.empty()) return;
    is_making_ = true;
    const auto row = std::move(to_make_.back());
    to_make_.pop_back();
    const auto next = [this] {
      is_making_ = false;
      make_key();
    };
    self_->request(issuers_.front(), issuer_patience, identity_issuer::MakeKey{row})
        .then([next](identity_issuer::KeyMade) { next(); }, [next](const Error&) { next(); });
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

  NodeDoor::pointer self_;
  std::shared_ptr<state::Store> store_;
  std::shared_ptr<const raft::LeaderLease> lease_;  ///< None: always ours.
  identity::RsaKeyOf for_others_;
  std::vector<IdentityIssuer> issuers_;
  Questions questions_;
  std::map<std::string, Questions::iterator> of_node_;
  std::uint64_t newest_ = 0;   ///< Question.
  std::size_t waiting_ = 0;    ///< Sum of the questions' weights.
  std::size_t parts_out_ = 0;  ///< All of one question.
  std::vector<Object<schema::RootKey>> to_make_;
  bool is_making_ = false;  ///< One that was in `to_make_`.
  state::Watches::Subscription new_keys_;
};

NodeDoor::behavior_type identity_endpoint(NodeDoor::stateful_pointer<IdentityState> self,
                                          const std::shared_ptr<state::Store>& store,
                                          const identity::IssuingKeys& keys,
                                          const std::shared_ptr<const raft::LeaderLease>& lease,
                                          const IdentityEndpointOptions& options) {
  self->state.init(store, keys, lease, options);
  return {[self](const door::Ask& msg) { return self->state.answer(msg); }};
}

}  // namespace

NodeDoor spawn_identity_endpoint(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 identity::IssuingKeys keys,
                                 std::shared_ptr<const raft::LeaderLease> lease,
                                 IdentityEndpointOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, identity_endpoint, std::move(store),
                                              std::move(keys), std::move(lease),
                                              std::move(options));
}

}  // namespace nomad::server
