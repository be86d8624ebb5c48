#include "actors/api/forward/relay.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/api/forward/api_wire.hpp"
#include "actors/api/forward/body_transfer.hpp"
#include "actors/api/forward/forward_parts.hpp"
#include "actors/api/forward/leader_watch.hpp"
#include "actors/api/forward/relay_input.hpp"
#include "actors/api/forward/repeats.hpp"
#include "actors/api/http/path_secrets.hpp"
#include "actors/api/http/rights_watch.hpp"
#include "actors/rpc/transport.hpp"
#include "runtime/base/log.hpp"
#include "runtime/net/http/error_status.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

using namespace std::chrono_literals;
using rpc::transport::Delivery;
using rpc::transport::Opened;
using rpc::transport::OpenStream;
using rpc::transport::Reply;

constexpr std::chrono::milliseconds first_pause{40};
constexpr std::chrono::milliseconds longest_pause{320};
constexpr std::chrono::seconds connect_patience{70};
constexpr std::chrono::seconds end_patience{5};  ///< Between an answer's last bytes and its end.
constexpr std::uint64_t kept_whole = 16 * 1024 * 1024;  ///< Longer answers are streamed.

/// So long those who serve a session have to end it when its caller may not go on.
constexpr std::chrono::milliseconds session_patience{600};

/// Marks an answer that says that nothing was done. Between agents only.
constexpr std::string_view unserved_header = "X-Nomadctl-Unserved";

bool is_unserved(const net::Response& response) {
  return std::any_of(response.headers.begin(), response.headers.end(), [](const auto& header) {
    return net::same_header(header.name, unserved_header);
  });
}

class Relay : public std::enable_shared_from_this<Relay> {
  /// What calls `action(relay, …)` in a turn, unless this is gone by then.
  template <class Action>
  auto if_alive(Action action) {
    return turns_.callback([weak = weak_from_this(), action](auto&&... given) {
      if (const auto self = weak.lock()) action(*self, std::forward<decltype(given)>(given)...);
    });
  }

public:
  Relay(Call call, Find find, Run run, std::string_view region)
      : call_{std::move(call)},
        find_{std::move(find)},
        run_{std::move(run)},
        context_{call_.context},
        body_{write_request(call_.request(), region)},
        body_file_{call_.request().body_file},
        upgrades_{!call_.request().upgrade().empty()},
        is_first_{call_.request().hops == 0},
        repeats_{
            !upgrades_ && (call_.request().method == "GET" || call_.request().method == "HEAD"),
            std::chrono::steady_clock::now()} {}

  void start() {
    call_.responder.on_abandoned(if_alive([](Relay& relay) { relay.abandon(); }));
    turns_.post([self = shared_from_this()] { self->look(); });
  }

private:
  enum class Phase : std::uint8_t { looking, waiting, collecting, streaming, tunneling, over };

  // -- where to

  void look() {
    find_(turns_.callback(
        [self = shared_from_this()](Result<Found> found) { self->go(std::move(found)); }));
  }

  void go(Result<Found> found) {
    if (!found) {
      const auto why = found.error().code;
      if (why == Errc::no_leader || why == Errc::unavailable) return later(found.error());
      if (enter(Phase::over)) call_.fail(found.error());
      return;
    }
    if (std::holds_alternative<ServeHere>(*found)) {
      if (!enter(Phase::over)) return;
      call_.responder.on_abandoned([] {});
      return run_(std::move(call_));
    }
    open(std::get<RelayTarget>(*found));
  }

  /// Tries again after a pause, or as soon as there is another leader, while there is time.
  void later(const Error& why) {
    if (!is_first_ || !has_time()) {
      if (enter(Phase::over)) refuse_unserved(call_, why);
      return;
    }
    if (!enter(Phase::looking)) return;
    const auto number = ++look_;
    context_->timers.call_after(
        std::exchange(pause_, std::min(pause_ * 2, longest_pause)),
        turns_.callback([self = shared_from_this(), number] { self->look_once(number); }));
    if (!wants_leader_ && why.code != Errc::no_leader) return;
    seeking_ = context_->leader_watch->wait_for(
        asked_leader_, 0ms, if_alive([number](Relay& relay) { relay.look_once(number); }));
  }

  bool has_time() const { return repeats_.has_time(std::chrono::steady_clock::now() + pause_); }

  /// Of several reasons for a look the first counts.
  void look_once(unsigned number) {
    if (number != look_ || phase_ != Phase::looking) return;
    ++look_;
    look();
  }

  /// False when it is over already.
  bool enter(Phase phase) {
    if (phase_ == Phase::over) return false;
    phase_ = phase;
    return true;
  }

  // -- there and back

  void open(const RelayTarget& target) {
    if (!enter(Phase::waiting)) return;
    const auto& request = call_.request();
    const auto number = ++attempt_;
    wants_leader_ = target.is_leader;
    if (target.is_leader) asked_leader_ = target.address;
    if (target.is_leader)
      leader_wait_ = context_->leader_watch->wait_for(
          target.address, LeaderWatch::answer_grace,
          if_alive([number](Relay& relay) { relay.leader_lost(number); }));
    OpenStream message;
    message.call.to.address = target.address;
    message.call.method
        = target.address.empty() ? rpc::Method::api_on_node : rpc::Method::api_forward;
    message.call.body = body_;
    message.call.timeout = 0ms;  // blocking queries and streams end by themselves
    if (const auto& token = call_.asking.who.caller().token)
      message.call.credentials.token = token->secret.reveal();
    if (const auto* const limits = call_.asking.who.limits())
      message.call.credentials.limits = limits->text();
    message.call.hops = static_cast<std::uint8_t>(request.hops + 1);
    message.call.remote = call_.asking.who.caller().remote;
    message.call.target_node = target.target_node;
    message.node_id = target.node_id;
    message.done = turns_.callback(
        [self = shared_from_this(), number](const Reply& reply) { self->ended(reply, number); });
    context_->asker.ask<Opened>(
        context_->forward->transport, std::move(message), connect_patience,
        turns_.callback([self = shared_from_this(), number](Result<Opened> opened) {
          if (!opened) return self->ended({opened.error(), Delivery::surely_not}, number);
          self->listen(std::move(*opened), number);
        }));
  }

  void listen(Opened opened, unsigned number) {
    if (phase_ != Phase::waiting || number != attempt_) return opened.cancel();
    cancel_ = opened.cancel;
    const std::weak_ptr<net::RpcStream> stream = opened.stream;
    if (body_file_ && body_file_->size() > 0)
      send_body(opened.stream, body_file_, run_blocking(context_),
                if_alive([number](Relay& relay, const Error& error) {
                  if (number == relay.attempt_) relay.break_off(error.what);
                }));
    else if (!upgrades_)
      opened.stream->end();  // all of the request is in its body
    opened.stream->on_data(
        turns_.callback([self = shared_from_this(), stream, number, head = ResponseHeadReader{}](
                            const Bytes& bytes, bool last) mutable {
          self->take(bytes, last, stream, number, head);
        }));
  }

  /// A piece of the answer.
  void take(const Bytes& bytes,
            bool last,
            const std::weak_ptr<net::RpcStream>& stream,
            unsigned number,
            ResponseHeadReader& head) {
    if (number != attempt_) return;
    auto rest = bytes.text();
    const auto taken = bytes.size();
    if (phase_ == Phase::waiting && !take_head(head, rest, number, stream)) return;
    if (phase_ == Phase::collecting) {
      answer_.body.append(rest);
      if (answer_.body.size() > kept_whole) return break_off("the answer is longer than it said");
      if (const auto open = stream.lock()) open->taken(taken);
      if (last) finish();
    } else if (phase_ == Phase::streaming) {
      const bool went = body_stream_.write(rest, [stream, taken] {
        if (const auto open = stream.lock()) open->taken(taken);
      });
      if (!went) return abandon();
      if (last && enter(Phase::over)) body_stream_.close();
    } else if (phase_ == Phase::tunneling) {
      const bool went = tunnel_.write(rest, [stream, taken] {
        if (const auto open = stream.lock()) open->taken(taken);
      });
      if (!went) return abandon();
      if (last) tunnel_.end_output();
    } else if (const auto open = stream.lock()) {
      open->taken(taken);
      if (last && phase_ == Phase::waiting) break_off("the answer has no head");
    }
  }

  /// False when there was no use in what came.
  bool take_head(ResponseHeadReader& reader,
                 std::string_view& rest,
                 unsigned number,
                 const std::weak_ptr<net::RpcStream>& stream) {
    auto head = reader.feed(rest);
    if (!head) {
      break_off(head.error().what);
      return false;
    }
    if (!*head) return true;
    if ((*head)->response.status == net::status::switching_protocols)
      return begin_tunnel(**head, number, stream.lock());
    const auto length = (*head)->length;
    const bool is_whole = length && *length <= kept_whole;
    if (!begin_answer(is_whole ? Phase::collecting : Phase::streaming, number)) return false;
    answer_ = std::move((*head)->response);
    if (is_whole)
      expected_ = *length;
    else
      body_stream_ = call_.responder.stream(std::move(answer_));
    return true;
  }

  /// From here on the answer is the one of this attempt. False when it is void already.
  bool begin_answer(Phase phase, unsigned number) {
    if (phase_ != Phase::waiting || number != attempt_) return false;
    phase_ = phase;
    return true;
  }

  // -- tunnels

  bool begin_tunnel(ResponseHeadReader::Head& head,
                    unsigned number,
                    std::shared_ptr<net::RpcStream> stream) {
    if (!upgrades_) {
      break_off("an answer for another protocol, which was not asked for");
      return false;
    }
    if (!begin_answer(Phase::tunneling, number)) return false;
    tunnel_ = call_.responder.tunnel(std::move(head.response));
    if (stream) {  // Else it has ended already: all that it said is here, and nobody hears the
                   // client.
      stream->on_writable([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->input_.send();
      });
      input_.begin(std::move(stream), [this](std::size_t count) { tunnel_.taken(count); });
    }
    tunnel_.on_data([weak = weak_from_this()](std::string_view bytes, bool last) {
      if (const auto self = weak.lock()) self->input_.add(bytes, last);
    });
    keep_rights();
    return true;
  }

  /// Whoever serves a session ends it when its caller's token has ended, and says why. One who
  /// enforces nothing does not: so this agent does, a moment later.
  void keep_rights() {
    if (!is_first_ || !call_.asking.who.grant()) return;
    rights_ = context_->rights_watch.renew(
        call_.asking.who, if_alive([](Relay& relay, const Result<access::Principal>& now) {
          if (now || relay.phase_ != Phase::tunneling) return;
          relay.context_->timers.call_after(session_patience, relay.if_alive([](Relay& late) {
            if (late.phase_ == Phase::tunneling) late.break_off("the token has ended");
          }));
        }));
  }

  /// Whoever calls it closes the tunnel, which no input uses any more.
  net::Tunnel end_tunnel() {
    input_.drop();
    return std::move(tunnel_);
  }

  /// The whole answer is here.
  void finish() {
    if (answer_.body.size() != expected_) return break_off("the answer broke off");
    if (is_unserved(answer_) && is_first_) {
      forget_attempt();
      const auto code = net::code_of_status(answer_.status);
      return later({code, std::exchange(answer_, {}).body});
    }
    if (!enter(Phase::over)) return;
    if (upgrades_ && call_.tell_failure != nullptr && answer_.status >= net::status::bad_request)
      return call_.fail(Answer::text(answer_.status, std::move(answer_.body)));
    call_.responder.send(std::move(answer_));
  }

  void forget_attempt() {
    ++attempt_;
    cancel_ = nullptr;
  }

  /// An attempt that was given up before anything of an answer came.
  struct GivenUp {
    bool goes_on = false;  ///< There may be another one.
    std::function<void()> cancel;
  };

  /// Nothing when the attempt is void already, or its answer has begun.
  std::optional<GivenUp> give_up(unsigned number, Delivery delivery) {
    if (phase_ != Phase::waiting || number != attempt_) return {};
    ++attempt_;
    const bool goes_on
        = delivery == Delivery::surely_not
          || (delivery == Delivery::maybe && repeats_.may_repeat(std::chrono::steady_clock::now()));
    phase_ = goes_on ? Phase::looking : Phase::over;
    return GivenUp{goes_on, std::exchange(cancel_, nullptr)};
  }

  /// Somebody else leads by now, and nothing of an answer has come.
  void leader_lost(unsigned number) {
    const auto given_up = give_up(number, Delivery::maybe);
    if (!given_up) return;
    log::debug("http", "the leader was lost while a request was with it",
               {{"method", call_.request().method}, {"route", route_of(call_)}});
    if (given_up->goes_on)
      look();
    else
      call_.fail({Errc::unavailable,
                  "rpc error: the leader was lost (the request may have been carried out)"});
    if (given_up->cancel) given_up->cancel();
  }

  /// The call is over, for good or bad. What came before it has been taken already, unless this
  /// attempt is not even listened to yet.
  void ended(const Reply& reply, unsigned number) {
    if (number != attempt_) return;
    if (reply.outcome && phase_ == Phase::tunneling) {
      if (enter(Phase::over)) end_tunnel().close();
      return;
    }
    if (reply.outcome) {
      context_->timers.call_after(end_patience,
                                  turns_.callback([self = shared_from_this(), number] {
                                    if (number == self->attempt_ && self->phase_ != Phase::over)
                                      self->break_off("the answer has no end");
                                  }));
      return;
    }
    const auto& error = reply.outcome.error();
    const auto given_up = give_up(number, reply.delivery);
    if (!given_up) {
      if (number == attempt_) break_off(error.what);
      return;
    }
    log::debug("http", "a request could not be passed on",
               {{"method", call_.request().method}, {"route", route_of(call_)}, {"error", error}});
    // What keeps agents from each other is no concern of the caller, but for a node that is away.
    if (given_up->goes_on)
      later({error.code == Errc::not_found ? error.code : Errc::unavailable, error.what});
    else if (reply.delivery == Delivery::maybe)
      call_.fail({Errc::unavailable,
                  "rpc error: " + error.what + " (the request may have been carried out)"});
    else
      call_.fail(error);
  }

  /// The answer can't be completed.
  void break_off(const std::string& why) {
    const auto before = std::exchange(phase_, Phase::over);
    const auto cancel = std::exchange(cancel_, nullptr);
    if (before == Phase::over) return;
    log::debug("http", "the answer of a request that was passed on breaks off",
               {{"method", call_.request().method}, {"route", route_of(call_)}, {"error", why}});
    if (before == Phase::streaming)
      body_stream_.abort();
    else if (before == Phase::tunneling)
      end_tunnel().abort();
    else
      call_.fail({Errc::unavailable, "rpc error: " + why});
    if (cancel) cancel();
  }

  /// The client went away.
  void abandon() {
    phase_ = Phase::over;
    input_.drop();
    if (const auto cancel = std::exchange(cancel_, nullptr)) cancel();
  }

  Call call_;
  const Find find_;
  const Run run_;
  const std::shared_ptr<Context> context_;
  const Bytes body_;
  const std::shared_ptr<const net::BodyFile> body_file_;  ///< Follows `body_`, if there is one.
  const bool upgrades_;                                   ///< To another protocol.
  const bool is_first_;                                   ///< The client asked this agent.

  /// What waits is bounded by the window of the stream, and by the few questions that are open.
  const Turns turns_ = Turns::strand();

  // Touched in turns only.
  Repeats repeats_;
  std::chrono::milliseconds pause_ = first_pause;
  unsigned attempt_ = 0;       ///< What comes of earlier ones is void.
  bool wants_leader_ = false;  ///< The last attempt went to the leader,
  std::string asked_leader_;   ///< who was this one.

  // Of the attempt whose answer has begun.
  net::Response answer_;
  std::uint64_t expected_ = 0;
  net::BodyStream body_stream_;
  net::Tunnel tunnel_;

  RelayInput input_;              ///< Of a tunnel.
  RightsWatch::Watching rights_;  ///< The same.

  Phase phase_ = Phase::looking;
  std::function<void()> cancel_;
  LeaderWatch::Waiting leader_wait_;
  unsigned look_ = 0;  ///< The next one; earlier reasons for it are void.
  LeaderWatch::Waiting seeking_;
};

}  // namespace

void relay(Call call, Find find, Run run, std::string_view region) {
  std::make_shared<Relay>(std::move(call), std::move(find), std::move(run), region)->start();
}

void refuse_unserved(Call& call, const Error& why) {
  auto answer = Answer::error(why);
  if (call.request().hops > 0) {
    answer.headers.push_back({std::string{unserved_header}, "true"});
    return call.send(std::move(answer));
  }
  call.fail(std::move(answer));
}

}  // namespace nomad::api
