#include "actors/client/tools/identity_signer.hpp"

#include <map>
#include <utility>

#include "actors/core/supervise.hpp"

namespace nomad::client {

namespace {

using identity_signer::ClockFollower;
using identity_signer::ClockMoved;
using identity_signer::FollowClock;
using identity_signer::Identity;
using identity_signer::Sign;
using identity_signer::Signed;

constexpr auto signing_timeout = std::chrono::seconds{30};

/// Of one question, unless one task wants more: while the servers sign the next ones, tasks start.
constexpr std::size_t usual_queries = 256;
constexpr std::size_t most_queries = 1000;

constexpr auto between_clock_looks = std::chrono::minutes{1};

/// What moves the wall clock by less is no matter, even of the shortest lives; it is not forgotten,
/// but counts with what comes after it.
constexpr Nanoseconds least_move = std::chrono::seconds{1};

struct LookAtClock {
  using is_message = void;
};

using SignerSelf = actor::WithInternal<IdentitySigner, void(LookAtClock)>;

class SignerState {
public:
  static constexpr const char* name = "identity_signer";

  explicit SignerState(SignerSelf::pointer self) : self_{self} {}

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

  void follow(const FollowClock& msg) {
    const auto who = msg.who.lock();
    if (!who || !options_.unix_now) return;
    const bool is_first = followers_.empty();
    followers_.insert_or_assign(who.address().id, msg.who);
    if (!is_first) return;
    told_ = ahead();
    look_later();
  }

  void look() {
    std::erase_if(followers_, [](const auto& each) { return !each.second.lock(); });
    if (followers_.empty()) return;
    tell_of_move();
    look_later();
  }

private:
  struct Order {
    Sign what;
    actor::Promise<Signed> promise{};
  };

  void look_later() { actor::send_self_after(self_, between_clock_looks, LookAtClock{}); }

  /// The wall clock of the steady one.
  Nanoseconds ahead() const {
    return Nanoseconds{options_.unix_now()} - self_->now().time_since_epoch();
  }

  void tell_of_move() {
    if (followers_.empty()) return;
    const auto now = ahead();
    const auto moved = now - told_;
    if (moved < least_move && moved > -least_move) return;
    told_ = now;
    for (const auto& [id, weak] : followers_)
      if (const auto who = weak.lock()) self_->send(who, ClockMoved{});
  }

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
    tell_of_move();  // Of one that is set back before the next look, these would not be known.
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

  SignerSelf::pointer self_;
  IdentitySignerOptions options_;
  std::vector<Order> waiting_;
  std::vector<Order> open_;  ///< Of the question that the servers have.
  std::map<std::uint64_t, actor::Weak<ClockFollower>> followers_;  ///< Without one nobody looks.
  Nanoseconds told_{};  ///< How far the wall clock was ahead, as the followers know.
};

SignerSelf::behavior_type signer_actor(SignerSelf::stateful_pointer<SignerState> self,
                                       IdentitySignerOptions options) {
  self->state.init(std::move(options));
  return {[self](Sign& msg) { return self->state.sign(msg); },
          [self](const FollowClock& msg) { self->state.follow(msg); },
          [self](LookAtClock) { self->state.look(); }};
}

}  // namespace

IdentitySigner spawn_identity_signer(const actor::Owner& owner, IdentitySignerOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, signer_actor, std::move(options));
}

}  // namespace nomad::client
