#include "actors/api/allocs/exec_session.hpp"

#include <optional>
#include <utility>

#include "actors/api/allocs/exec_frames.hpp"
#include "actors/api/audit/audited_call.hpp"
#include "actors/api/http/token_handshake.hpp"
#include "actors/api/http/websocket_handshake.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/turns.hpp"
#include "runtime/net/http/websocket.hpp"

namespace nomad::api {
namespace {

using namespace std::chrono_literals;
namespace ws = net::websocket;
using client::client_api::Exec;
using client::client_api::ExecAllowed;
using client::client_api::ExecStarted;
using client::client_api::MayExec;
using host::ExecEvents;
using Clock = std::chrono::steady_clock;

constexpr std::size_t largest_message = 1024 * 1024;
constexpr std::size_t pongs_at_once = 64 * 1024;  ///< Bytes; more pings wait to be read.

// A client that works sends heartbeats every ten seconds, or at least answers pings.
constexpr std::chrono::seconds look_every{5};
constexpr std::chrono::seconds ping_after{30};
constexpr std::chrono::seconds gone_after{120};  ///< Of silence.

class Bridge : public std::enable_shared_from_this<Bridge> {
public:
  Bridge(Call call, client::ClientApi client, ExecRequest request)
      : context_{call.context},
        client_{std::move(client)},
        request_{std::move(request)},
        audit_{call.audit},
        who_{call.asking.who},
        tunnel_{call.responder.tunnel(switching(call.request()))} {}

  void start() {
    tunnel_.on_abandoned(turns_.callback([self = shared_from_this()] { self->end(); }));
    turns_.post([self = shared_from_this()] { self->begin(); });
  }

private:
  enum class Phase : std::uint8_t { starting, running, over };

  /// What calls `action(bridge, …)` in a turn, as long as this lives.
  template <class Action>
  auto later(Action action) {
    return turns_.callback([weak = weak_from_this(), action](auto&&... given) {
      if (const auto self = weak.lock()) action(*self, std::forward<decltype(given)>(given)...);
    });
  }

  void begin() {
    if (audit_ && client_)
      ask_noted();
    else
      ask();
    look_later();
  }

  void listen() {
    tunnel_.on_data([self = shared_from_this()](std::string_view bytes, bool last) {
      self->turns_.post([self, bytes = std::string{bytes}, last] { self->take(bytes, last); });
    });
  }

  // -- the command

  /// Asks for it once the audit log has whose it is: the first line may not, if his token came
  /// later or another agent knows it. He is judged before that line, and again with the command.
  void ask_noted() {
    context_->asker.ask<ExecAllowed>(
        client_, MayExec{request_.alloc_id, request_.task, who_}, ask_timeout,
        turns_.callback([self = shared_from_this()](const Result<ExecAllowed>& allowed) {
          if (self->phase_ == Phase::over) return;
          if (!allowed) return self->refuse(allowed.error());
          self->audit_->start_session(self->turns_.callback([self](const Result<>& noted) {
            if (self->phase_ == Phase::over) return;
            if (!noted) return self->refuse(not_audited());
            self->ask();
          }));
        }));
  }

  void ask() {
    if (!client_)
      return refuse({Errc::not_found, "Unknown allocation \"" + request_.alloc_id + '"'});
    const auto& words = request_.command.command;  // never the arguments: they may hold secrets
    log::info("http", "running a command beside a task",
              {{"alloc", request_.alloc_id},
               {"task", request_.task},
               {"action", request_.action},
               {"command", words.empty() ? std::string_view{} : words.front()},
               {"peer", who_.describe()}});
    context_->asker.ask<ExecStarted>(
        client_,
        Exec{request_.alloc_id,
             request_.task,
             request_.command,
             {who_, Capability::alloc_exec},
             request_.action,
             request_.job_id},
        ask_timeout,
        turns_.callback([self = shared_from_this()](const Result<ExecStarted>& started) {
          self->run(started);
        }));
  }

  void run(const Result<ExecStarted>& started) {
    if (phase_ == Phase::over) {
      if (started) release(started->session);
      return;
    }
    if (!started) return refuse(started.error());
    phase_ = Phase::running;
    session_ = started->session;
    keep_rights();
    last_heard_ = Clock::now();
    session_->start(
        {.output
         = [send = later([](Bridge& bridge, const std::string& frame, std::size_t count) {
              bridge.forward(frame, count);
            })](ExecEvents::Output which,
                std::string_view bytes) { send(exec_output_frame(which, bytes), bytes.size()); },
         .writable = later([](Bridge& bridge) { bridge.resume(); }),
         .exited
         = later([](Bridge& bridge, const host::ExecResult& result) { bridge.exited(result); })});
    listen();
  }

  /// Until the node says that he may not do it any more.
  void keep_rights() {
    rights_ = context_->rights_watch.renew(
        who_, later([](Bridge& bridge, const Result<access::Principal>& who) {
          if (bridge.phase_ != Phase::running) return;
          if (!who) return bridge.refuse(who.error());
          bridge.who_ = *who;
          bridge.ask_whether_allowed();
        }));
  }

  void ask_whether_allowed() {
    context_->asker.ask<ExecAllowed>(
        client_, MayExec{request_.alloc_id, request_.task, who_}, ask_timeout,
        turns_.callback([weak = weak_from_this()](const Result<ExecAllowed>& allowed) {
          const auto self = weak.lock();
          if (!self || self->phase_ != Phase::running) return;
          if (!allowed && allowed.error().code == Errc::permission_denied)
            self->refuse(allowed.error());
        }));
  }

  /// The frame of `count` bytes of output.
  void forward(const std::string& frame, std::size_t count) {
    if (phase_ != Phase::running) return;
    codec_.send(ws::Kind::text, frame);
    write([weak = std::weak_ptr{session_}, count] {
      if (const auto session = weak.lock(); session && count > 0) session->taken(count);
    });
  }

  void exited(const host::ExecResult& result) {
    if (phase_ != Phase::running) return;
    if (!result.error.empty()) return close(ws::CloseCode::internal_error, result.error);
    codec_.send(ws::Kind::text, exec_exit_frame(result.exit_code));
    close(ws::CloseCode::normal, "");
  }

  // -- the client

  void take(const std::string& bytes, bool last) {
    if (phase_ == Phase::over) return;
    last_heard_ = Clock::now();
    input_ += bytes;
    pump();
    if (last) end();  // nothing is left of a websocket whose client sends no more
  }

  bool takes_input() const {
    return phase_ == Phase::running && !refused_ && pongs_ < pongs_at_once;
  }

  void pump() {
    std::size_t used = 0;
    while (takes_input()) {
      auto rest = std::string_view{input_}.substr(used);
      const auto message = codec_.next(rest);
      used = input_.size() - rest.size();
      if (codec_.fault()) return end();
      if (!message) break;
      understand(*message);
    }
    if (phase_ == Phase::over) return;
    input_.erase(0, used);
    if (used > 0) tunnel_.taken(used);
  }

  void understand(const ws::Message& message) {
    switch (message.kind) {
      case ws::Kind::ping:
        return pong();
      case ws::Kind::pong:
        return;
      case ws::Kind::close:
        return end();
      case ws::Kind::text:
      case ws::Kind::binary:
        obey(message.payload);
    }
  }

  /// The codec has made it; what waits of them is bounded.
  void pong() {
    const auto frame = codec_.take_output();
    pongs_ += frame.size();
    const bool went = tunnel_.write(frame, later([size = frame.size()](Bridge& bridge) {
                                      bridge.pongs_ -= size;
                                      bridge.pump();
                                    }));
    if (!went) end();
  }

  void obey(std::string_view payload) {
    auto input = parse_exec_input(payload);
    if (!input) return close(ws::CloseCode::internal_error, input.error().what);
    if (input->size) session_->resize(input->size->first, input->size->second);
    if (!input->data.empty() && !session_->write_input(input->data))
      refused_ = std::move(*input);
    else if (input->closes)
      session_->end_input();
  }

  /// The command takes input again.
  void resume() {
    if (phase_ != Phase::running || !refused_ || !session_->write_input(refused_->data)) return;
    if (std::exchange(refused_, std::nullopt)->closes) session_->end_input();
    pump();
  }

  // -- its end

  void look_later() {
    context_->timers.call_after(look_every, later([](Bridge& bridge) { bridge.look(); }));
  }

  void look() {
    if (phase_ == Phase::over) return;
    const auto now = Clock::now();
    if (!takes_input()) last_heard_ = now;  // it is we who do not listen
    if (now - last_heard_ > gone_after) {
      log::info("http", "ending a command beside a task: the client is silent",
                {{"alloc", request_.alloc_id}, {"task", request_.task}});
      return close(ws::CloseCode::policy_violation, "the client is silent");
    }
    if (phase_ == Phase::running && (!takes_input() || now - last_heard_ > ping_after)) ping(now);
    look_later();
  }

  /// While we do not read, only what we send shows that the client is gone: so often then.
  void ping(Clock::time_point now) {
    if (takes_input() && now - last_ping_ < ping_after) return;
    last_ping_ = now;
    codec_.send(ws::Kind::ping, "");
    write({});
  }

  /// Sends what the codec has made.
  void write(std::function<void()> drained) {
    if (!tunnel_.write(codec_.take_output(), std::move(drained))) end();
  }

  void refuse(const Error& error) {
    const auto answer = Answer::error(error);
    if (audit_) audit_->refuse(answer.status, answer.body);
    close(close_code_of(answer.status), answer.body);
  }

  void close(ws::CloseCode code, std::string_view reason) {
    codec_.close(code, reason);
    end();
  }

  /// Ends everything, after what the codec has still to say.
  void end() {
    if (std::exchange(phase_, Phase::over) == Phase::over) return;
    if (const auto farewell = codec_.take_output(); !farewell.empty()) tunnel_.write(farewell);
    tunnel_.close();
    input_.clear();
    refused_.reset();
    if (auto session = std::exchange(session_, nullptr)) release(std::move(session));
  }

  /// Gives up the session, which kills what still runs; not on the session's own thread.
  void release(std::shared_ptr<host::ExecSession> session) {
    context_->timers.call_after(0ms, [session = std::move(session)] {});
  }

  const std::shared_ptr<Context> context_;
  const client::ClientApi client_;
  const ExecRequest request_;
  const std::shared_ptr<AuditedCall> audit_;  ///< May be null.

  /// What waits is bounded by the windows of the tunnel and of the session.
  const Turns turns_ = Turns::strand();

  // Touched in turns only.
  access::Principal who_;
  RightsWatch::Watching rights_;
  Phase phase_ = Phase::starting;
  net::Tunnel tunnel_;
  std::shared_ptr<host::ExecSession> session_;
  ws::Codec codec_{ws::Side::server, largest_message};
  std::string input_;                 ///< Not understood yet, and not acknowledged.
  std::optional<ExecInput> refused_;  ///< The command did not take it.
  std::size_t pongs_ = 0;             ///< Bytes of pongs that wait.
  Clock::time_point last_heard_ = Clock::now();
  Clock::time_point last_ping_;
};

}  // namespace

void serve_exec(Call call, client::ClientApi client, ExecRequest request) {
  if (call.audit) call.audit->await_session(true);
  std::make_shared<Bridge>(std::move(call), std::move(client), std::move(request))->start();
}

}  // namespace nomad::api
