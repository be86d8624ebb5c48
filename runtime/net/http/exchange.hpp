// Exchange: one request and the way back, as whoever received it provides it: a connection of the
// HTTP server, or a stream from another agent that passes the request on. Handlers see it through
// Responder, BodyStream and Tunnel only.
//
// Threads: every method may be called on any thread, but one at a time per object.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/turns.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::net::detail {

class Exchange;

/// Stands between a handler and the way back of one request, and hears of the answer before the
/// client does.
class AnswerGate {
public:
  virtual ~AnswerGate() = default;

  /// The whole answer, once: sends it, at once or later, or another one in its place.
  virtual void send(const std::shared_ptr<Exchange>& exchange, Response response) = 0;

  /// A stream or a tunnel begins with that status.
  virtual void opened(unsigned status) = 0;

  /// It is over.
  virtual void ended() = 0;

  /// The Responder died; `dropped` answers for it, unless `send` has.
  virtual void dropped(const std::shared_ptr<Exchange>& exchange) = 0;
};

class Exchange : public Turns::Taker {
public:
  Request request;                        ///< Complete before a handler sees it.
  std::shared_ptr<AnswerGate> gate = {};  ///< Null: answers go straight.

  Exchange() = default;
  Exchange(const Exchange&) = delete;

  /// Runs `action` on the exchange's own thread, in turn with its answers; drops it when the client
  /// is gone. False: there is no such thread.
  bool take(Turns::Action& action) override = 0;

  /// Answers, unless something has.
  virtual void send(Response response) = 0;

  /// Does on this thread what `send` would do here, as compressing, of an answer that waits first
  /// and goes out on another.
  virtual void prepare(Response&) {}

  /// The Responder dies on this thread, and its gate answers for it.
  virtual void let_go() {}

  /// Answers with a head; the body follows by `write` and `end`.
  virtual void start_stream(Response head) = 0;
  virtual bool write(std::string_view chunk, std::function<void()> drained) = 0;
  virtual void end(bool properly) = 0;

  /// The Responder died; answers 500 if nothing else has answered.
  virtual void drop() = 0;

  virtual bool abandoned() const = 0;
  virtual std::size_t queued() const = 0;
  virtual void on_abandoned(std::function<void()> callback) = 0;

  /// Answers with the head of a tunnel. Bytes out go by `write` and `end`, too. Whoever knows no
  /// tunnels breaks off.
  virtual void start_tunnel(Response) { end(false); }

  virtual void on_data(std::function<void(std::string_view bytes, bool last)>) {}

  virtual void taken(std::size_t) {}

  virtual void end_output() { end(true); }

  /// Whether this client's answer may begin before it is whole: `start_stream`, `give` and `end`.
  virtual bool takes_pieces() const { return false; }

  /// The next piece of an answer that is made faster than it is sent, and never larger than if it
  /// were sent whole: nobody waits for the client. False: it is gone, or this takes no pieces.
  virtual bool give(std::shared_ptr<const std::string>) { return false; }
};

/// What a client hears whose Responder died.
Response unanswered();

/// Ends a stream or a tunnel, and tells the gate.
void finish(Exchange& exchange, bool properly);

}  // namespace nomad::net::detail
