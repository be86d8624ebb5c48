#include "actors/api/http/websocket_stream.hpp"

#include <chrono>
#include <mutex>
#include <utility>

#include "actors/api/audit/audited_call.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/read_options.hpp"
#include "actors/api/http/token_handshake.hpp"
#include "actors/api/http/websocket_handshake.hpp"
#include "runtime/net/http/exchange.hpp"
#include "runtime/net/http/status.hpp"
#include "runtime/net/http/websocket.hpp"

namespace nomad::api {
namespace {

namespace ws = net::websocket;
using Clock = std::chrono::steady_clock;

constexpr std::size_t largest_input = 64 * 1024;  ///< Of a message that nobody reads.
constexpr std::chrono::seconds ping_interval{30};
constexpr std::chrono::seconds longest_silence{120};

/// The request's exchange as its handler sees it. Whole frames may overtake each other where a pong
/// goes out beside the stream; nothing is called under the lock.
///
/// The tunnel is used by the stream's threads, the connection's and the timers' at once. So each
/// holds it meanwhile, and it is closed when the last of them lets go of it after the end.
class WebsocketExchange final : public net::detail::Exchange,
                                public std::enable_shared_from_this<WebsocketExchange> {
public:
  explicit WebsocketExchange(Call call) : context_{call.context}, audit_{call.audit} {
    request = call.request();
    if (audit_) audit_->await_session(true);  // the tunnel opens before anybody is judged
    tunnel_ = std::make_shared<net::Tunnel>(call.responder.tunnel(switching(request)));
  }

  void start() {
    const auto held = tunnel();
    held->on_abandoned([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->lose();
    });
    held->on_data([weak = weak_from_this()](std::string_view bytes, bool last) {
      if (const auto self = weak.lock()) self->hear(bytes, last);
    });
    look_later();
  }

  bool take(Turns::Action&) override { return false; }

  void send(net::Response response) override {
    const auto held = tunnel();  // its end, of which the audit log hears, comes after this
    if (!held) return;
    const auto& body = response.shared_body ? *response.shared_body : response.body;
    if (audit_ && response.status >= net::status::bad_request)
      audit_->refuse(response.status, body);
    close(response.status < net::status::bad_request ? ws::CloseCode::normal
                                                     : close_code_of(response.status),
          body);
  }

  void start_stream(net::Response) override {
    {
      const std::lock_guard lock{guard_};
      is_answered_ = true;
    }
    const auto held = tunnel();
    if (!held || !audit_) return;
    audit_->start_session([weak = weak_from_this()](const Result<>& noted) {
      const auto self = weak.lock();
      if (self && !noted) self->close(ws::CloseCode::internal_error, not_audited().what);
    });
  }

  bool write(std::string_view chunk, std::function<void()> drained) override {
    std::string frames;
    std::shared_ptr<net::Tunnel> held;
    {
      const std::lock_guard lock{guard_};
      if (is_over_) return false;
      held = tunnel_;
      if (!chunk.empty()) codec_.send(ws::Kind::text, chunk);
      frames = codec_.take_output();
    }
    return held->write(frames, std::move(drained));
  }

  void end(bool properly) override {
    close(properly ? ws::CloseCode::normal : ws::CloseCode::internal_error,
          properly ? "" : "the stream broke off");
  }

  void drop() override {
    {
      const std::lock_guard lock{guard_};
      if (is_answered_) return;
    }
    send(net::detail::unanswered());
  }

  bool abandoned() const override {
    const std::lock_guard lock{guard_};
    return is_over_;
  }

  std::size_t queued() const override {
    const auto held = tunnel();
    return held ? held->queued() : 0;
  }

  void on_abandoned(std::function<void()> callback) override {
    {
      const std::lock_guard lock{guard_};
      if (!is_over_) return abandoned_.swap(callback);
    }
    if (callback) callback();
  }

private:
  /// Null after the end.
  std::shared_ptr<net::Tunnel> tunnel() const {
    const std::lock_guard lock{guard_};
    return tunnel_;
  }

  void close(ws::CloseCode code, std::string_view reason) {
    std::string farewell;
    std::function<void()> forgotten;
    std::shared_ptr<net::Tunnel> last;
    {
      const std::lock_guard lock{guard_};
      if (std::exchange(is_over_, true)) return;
      codec_.close(code, reason);
      farewell = codec_.take_output();
      forgotten.swap(abandoned_);
      last.swap(tunnel_);
    }
    last->write(farewell);
  }

  /// The client is gone: whoever writes hears of it.
  void lose() {
    std::function<void()> callback;
    std::shared_ptr<net::Tunnel> last;
    {
      const std::lock_guard lock{guard_};
      if (std::exchange(is_over_, true)) return;
      callback.swap(abandoned_);
      last.swap(tunnel_);
    }
    last.reset();
    if (callback) callback();
  }

  void hear(std::string_view bytes, bool last) {
    const auto count = bytes.size();
    bool is_closed = last;
    std::string replies;
    std::shared_ptr<net::Tunnel> held;
    {
      const std::lock_guard lock{guard_};
      if (is_over_) return;
      held = tunnel_;
      last_heard_ = Clock::now();
      while (const auto message = codec_.next(bytes))
        if (message->kind == ws::Kind::close) is_closed = true;
      is_closed = is_closed || codec_.fault();
      replies = codec_.take_output();
    }
    const bool went = replies.empty() || held->write(replies);
    held->taken(count);
    held.reset();
    if (is_closed || !went) lose();
  }

  void look_later() {
    context_->timers.call_after(ping_interval, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->look();
    });
  }

  void look() {
    std::string ping;
    std::shared_ptr<net::Tunnel> held;
    {
      const std::lock_guard lock{guard_};
      if (is_over_) return;
      held = tunnel_;
      if (Clock::now() - last_heard_ < longest_silence) codec_.send(ws::Kind::ping, "");
      ping = codec_.take_output();
    }
    if (!ping.empty() && held->write(ping)) return look_later();
    held.reset();
    lose();
  }

  const std::shared_ptr<Context> context_;
  const std::shared_ptr<AuditedCall> audit_;  ///< May be null.
  mutable std::mutex guard_;
  std::shared_ptr<net::Tunnel> tunnel_;  ///< Null after the end.
  ws::Codec codec_{ws::Side::server, largest_input};
  std::function<void()> abandoned_;
  Clock::time_point last_heard_ = Clock::now();
  bool is_answered_ = false;
  bool is_over_ = false;
};

}  // namespace

Outcome over_websocket(Call& call, std::function<Outcome(Call&)> run) {
  if (auto refusal = refuse_handshake(call.request())) return std::move(*refusal);
  const bool token_comes = NOMAD_TRY(bool_parameter(call.request(), "ws_handshake"));
  const auto needed = call.asking.needed;
  const auto serve = [run = std::move(run)](Call known) {
    const auto context = known.context;
    const auto asking = known.asking;
    const auto rest = known.rest;
    const auto audit = known.audit;
    const auto exchange = std::make_shared<WebsocketExchange>(std::move(known));
    exchange->start();
    Call inner{context, net::Responder{exchange}, rest};
    inner.asking = asking;
    inner.audit = audit;
    inner.settle(run(inner));
  };
  if (!token_comes) {
    serve(std::move(call));
    return later;
  }
  read_token_handshake(std::move(call), [needed, serve](Call known) {
    known.asking.needed = needed;
    with_rights(std::move(known), serve);
  });
  return later;
}

Outcome stream_as_asked(Call& call, std::function<Outcome(Call&)> run) {
  return call.request().upgrade().empty() ? run(call) : over_websocket(call, std::move(run));
}

void break_off(Call& call, net::BodyStream& body, const Error& why) {
  std::string line;
  JsonObject{line}.text("Error", why.what);
  body.write(line + '\n');
  // A websocket closes with it. Elsewhere the answer has begun, and this is nothing.
  call.responder.send(to_response(Answer::error(why), call.request()));
  body.abort();
}

}  // namespace nomad::api
