#include "actors/api/http/token_handshake.hpp"

#include <atomic>
#include <optional>
#include <utility>

#include <boost/json.hpp>

#include "actors/api/audit/audited_call.hpp"
#include "actors/api/http/websocket_handshake.hpp"
#include "runtime/base/turns.hpp"
#include "runtime/net/http/exchange.hpp"
#include "runtime/net/http/status.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::api {
namespace {

namespace ws = net::websocket;

constexpr std::size_t largest_handshake = 64 * 1024;
constexpr std::chrono::seconds handshake_patience{30};

/// A close that says why, of a websocket that has said nothing but pongs.
std::string refusal_frame(unsigned status, std::string_view reason) {
  ws::Codec codec{ws::Side::server, largest_handshake};
  codec.close(close_code_of(status), reason);
  return codec.take_output();
}

/// The websocket from its first byte on: until the handshake it belongs to nobody, then it stands
/// for the request's exchange, whose tunnel is open already.
class Handshake final : public net::detail::Exchange,
                        public std::enable_shared_from_this<Handshake> {
public:
  Handshake(Call call, std::function<void(Call)> then)
      : context_{call.context},
        who_{call.asking.who},
        audit_{call.audit},
        rest_{call.rest},
        then_{std::move(then)},
        tunnel_{call.responder.tunnel(switching(call.request()))} {
    request = call.request();
    const auto query = request.target.find('?');
    request.target.insert(
        query == std::string::npos ? request.target.size() : query + 1,
        query == std::string::npos ? "?ws_handshake=false" : "ws_handshake=false&");
    net::split_target(request);  // of two values the first counts
  }

  void start() {
    tunnel_.on_abandoned(turns_.callback([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->give_up();
    }));
    tunnel_.on_data([self = shared_from_this()](std::string_view bytes, bool last) {
      self->turns_.post([self, bytes = std::string{bytes}, last] { self->arrived(bytes, last); });
    });
    context_->timers.call_after(handshake_patience, turns_.callback([weak = weak_from_this()] {
      if (const auto self = weak.lock())
        self->refuse({Errc::invalid_argument, "the handshake did not come in time"});
    }));
  }

  // -- as an Exchange, of whoever goes on with the call

  bool take(Turns::Action&) override { return false; }

  void send(net::Response response) override {
    if (is_answered_.exchange(true)) return;
    if (audit_) audit_->refuse(response.status, {});
    const auto& body = response.shared_body ? *response.shared_body : response.body;
    tunnel_.write(refusal_frame(response.status, body));
    tunnel_.close();
  }

  void start_stream(net::Response head) override { send(std::move(head)); }

  bool write(std::string_view chunk, std::function<void()> drained) override {
    return tunnel_.write(chunk, std::move(drained));
  }

  void end(bool properly) override {
    if (properly)
      tunnel_.close();
    else
      tunnel_.abort();
  }

  void drop() override {
    send({.status = net::status::internal_error, .body = "the request was not answered"});
  }

  bool abandoned() const override { return tunnel_.abandoned(); }

  std::size_t queued() const override { return tunnel_.queued(); }

  void on_abandoned(std::function<void()> callback) override {
    tunnel_.on_abandoned(std::move(callback));
  }

  void start_tunnel(net::Response) override {
    if (!is_answered_.exchange(true) && audit_) audit_->opened(net::status::switching_protocols);
  }

  void on_data(std::function<void(std::string_view bytes, bool last)> callback) override {
    turns_.post([self = shared_from_this(), callback = std::move(callback)]() mutable {
      self->listener_ = std::move(callback);
      self->hand_over();
    });
  }

  void taken(std::size_t count) override { tunnel_.taken(count); }

  void end_output() override { tunnel_.end_output(); }

private:
  /// What the client sent. More than the window of the tunnel never waits.
  void arrived(const std::string& bytes, bool last) {
    input_ += bytes;
    has_ended_ = has_ended_ || last;
    if (is_over_) return hand_over();
    std::string_view rest = input_;
    const auto message = next_text(rest);
    const auto used = input_.size() - rest.size();
    const bool went = tunnel_.write(codec_.take_output());
    if (!message && (!went || codec_.fault() || is_closed_ || last)) return give_up();
    input_.erase(0, used);
    tunnel_.taken(used);
    if (message) go_on(*message);
  }

  std::optional<std::string> next_text(std::string_view& rest) {
    while (auto message = codec_.next(rest)) {
      if (message->kind == ws::Kind::text || message->kind == ws::Kind::binary)
        return std::move(message->payload);
      if (message->kind == ws::Kind::close) is_closed_ = true;
    }
    return {};
  }

  void go_on(const std::string& payload) {
    auto token = parse_token_handshake(payload);
    if (!token) return refuse({Errc::invalid_argument, token.error().what});
    is_over_ = true;
    Call call{context_, net::Responder{shared_from_this()}, rest_};
    call.asking.who = access::Authenticator::with_token(who_, std::move(*token));
    call.audit = audit_;
    if (audit_) {
      audit_->await_session(false);
      call.become(audit_->watch(call.asking.who));
    }
    call.tell_failure = refuse_websocket;
    std::exchange(then_, {})(std::move(call));
  }

  /// Gives what came behind the handshake to who listens now.
  void hand_over() {
    if (!listener_) return;
    if (const auto bytes = std::exchange(input_, {}); !bytes.empty()) listener_(bytes, false);
    if (std::exchange(has_ended_, false)) listener_({}, true);
  }

  void refuse(const Error& error) {
    if (std::exchange(is_over_, true)) return;
    const auto answer = Answer::error(error);
    send({.status = answer.status, .body = answer.body});
  }

  void give_up() {
    if (!std::exchange(is_over_, true)) tunnel_.close();
  }

  const std::shared_ptr<Context> context_;
  const access::Principal who_;
  const std::shared_ptr<AuditedCall> audit_;  ///< Of the whole session; may be null.
  const std::string rest_;

  /// What waits is bounded by the window of the tunnel.
  const Turns turns_ = Turns::strand();

  // Touched in turns only, but for the tunnel once it is over.
  std::function<void(Call)> then_;
  ws::Codec codec_{ws::Side::server, largest_handshake};
  std::string input_;  ///< Not understood yet, or not handed over, and not acknowledged.
  bool has_ended_ = false;
  bool is_closed_ = false;
  bool is_over_ = false;  ///< The handshake: it was read, or nothing comes of it.
  std::function<void(std::string_view bytes, bool last)> listener_;

  std::atomic<bool> is_answered_{false};
  net::Tunnel tunnel_;
};

}  // namespace

void read_token_handshake(Call call, std::function<void(Call)> then) {
  if (call.audit) call.audit->await_session(true);
  std::make_shared<Handshake>(std::move(call), std::move(then))->start();
}

ws::CloseCode close_code_of(unsigned status) {
  return status >= net::status::internal_error ? ws::CloseCode::internal_error
                                               : ws::CloseCode::policy_violation;
}

void refuse_websocket(Call& call, const Answer& answer) {
  if (call.audit) call.audit->refuse(answer.status, answer.body);
  auto tunnel = call.responder.tunnel(switching(call.request()));
  tunnel.write(refusal_frame(answer.status, answer.body));
  tunnel.close();
}

Result<std::string> parse_token_handshake(std::string_view text) {
  const auto parsed = NOMAD_TRY(parse_json(text));
  const auto* frame = parsed.if_object();
  if (frame == nullptr) return Error{Errc::invalid_argument, "the handshake is not a JSON object"};
  const auto* version = frame->if_contains("version");
  const bool is_number = version != nullptr && version->is_int64();
  if (!is_number || version->get_int64() != 1)
    return Error{
        Errc::invalid_argument,
        "unexpected handshake value: " + std::to_string(is_number ? version->get_int64() : 0)};
  const auto* token = frame->if_contains("auth_token");
  return std::string{token != nullptr && token->is_string() ? std::string_view{token->get_string()}
                                                            : std::string_view{}};
}

}  // namespace nomad::api
