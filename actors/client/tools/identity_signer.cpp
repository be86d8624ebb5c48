#include "actors/client/tools/identity_signer.hpp"

#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::client {

namespace {

using identity_signer::Identity;
using identity_signer::Sign;
using identity_signer::Signed;

constexpr auto signing_timeout = std::chrono::seconds{30};

/// Of one question, unless one task wants more: while the servers sign the next ones, tasks start.
constexpr std::size_t usual_queries = 256;
constexpr std::size_t most_queries = 1000;

class SignerState {
public:
  static constexpr const char* name = "identity_signer";

  explicit SignerState(IdentitySigner::pointer self) : self_{self} {}

  void init(IdentitySignerOptions options) { options_ = std::move(options); }

  actor::Answer<Signed> sign(Sign& msg) {
    if (msg.wanted.size() > most_queries)
      return Error{Errc::too_large, "a task wants more than 1000 identities"};
    if (waiting_.size() >= most_identity_orders)
      return Error{Errc::overloaded, "too many tasks wait for their identities"};
    waiting_.push_back({std::move(msg), self_->make_response_promise<Signed>()});
    const auto promise = waiting_.back().promise;
    if (open_.empty()) ask();
    return promise;
  }

private:
  struct Order {
    Sign what;
    actor::Promise<Signed> promise{};
  };

  void ask() {
    std::size_t queries = 0;
    std::size_t taken = 0;
    for (; taken < waiting_.size(); ++taken) {
      const auto more = waiting_[taken].what.wanted.size();
      if (taken > 0 && queries + more > usual_queries) break;
      queries += more;
    }
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(taken);
    open_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    if (open_.empty()) return;
    self_->request(options_.servers, signing_timeout, question(queries))
        .then([this](const door::Reply& answer) { answered(answer); },
              [this](const Error& err) { failed(err); });
  }

  door::Ask question(std::size_t queries) const {
    return door::make_ask(options_.node_id, [&](auto& ask) {
      auto list = ask.initSignIdentities(static_cast<unsigned>(queries));
      unsigned i = 0;
      for (const auto& order : open_)
        for (const auto& wanted : order.what.wanted) {
          list[i].setAllocId(text(order.what.alloc_id));
          list[i].setTask(text(wanted.workload));
          list[i].setService(wanted.is_service);
          list[i++].setName(text(wanted.name));
        }
    });
  }

  void answered(const door::Reply& answer) {
    std::size_t wanted = 0;
    for (const auto& order : open_)
      wanted += order.what.wanted.size();
    if (!answer->isIdentities() || answer->getIdentities().size() != wanted)
      return failed({Errc::corrupt, "the servers' answer is not about what was asked"});
    const auto list = answer->getIdentities();
    unsigned i = 0;
    for (const auto& order : std::exchange(open_, {})) {
      Signed made;
      for (std::size_t n = 0; n < order.what.wanted.size(); ++n) {
        const auto one = list[i++];
        Identity identity;
        identity.token = SecretText{copy(one.getToken())};
        if (one.getExpiresAt() != 0)
          identity.life = Nanoseconds{one.getExpiresAt() - one.getIssuedAt()};
        identity.refused = copy(one.getRefused());
        made.identities.push_back(std::move(identity));
      }
      order.promise.deliver(std::move(made));
    }
    ask();
  }

  void failed(const Error& why) {
    for (const auto& order : std::exchange(open_, {}))
      order.promise.deliver(why);
    ask();
  }

  IdentitySigner::pointer self_;
  IdentitySignerOptions options_;
  std::vector<Order> waiting_;
  std::vector<Order> open_;  ///< Of the question that the servers have.
};

IdentitySigner::behavior_type signer_actor(IdentitySigner::stateful_pointer<SignerState> self,
                                           IdentitySignerOptions options) {
  self->state.init(std::move(options));
  return {[self](Sign& msg) { return self->state.sign(msg); }};
}

}  // namespace

IdentitySigner spawn_identity_signer(const actor::Owner& owner, IdentitySignerOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, signer_actor, std::move(options));
}

}  // namespace nomad::client
