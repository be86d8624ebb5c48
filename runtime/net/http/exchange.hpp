// Exchange: one request and the way back, as whoever received it provides it: a connection of the
// HTTP server, or a stream from another agent that passes the request on. Handlers see it through
// Responder, BodyStream and Tunnel only.
//
// Threads: every method may be called on any thread, but one at a time per object.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "runtime/base/turns.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::net::detail {

class Exchange : public Turns::Taker {
public:
  Request request;  ///< Complete before a handler sees it.

  Exchange() = default;
  Exchange(const Exchange&) = delete;

  /// Runs `action` on the exchange's own thread, in turn with its answers; drops it when the client
  /// is gone. False: there is no such thread.
  bool take(Turns::Action& action) override = 0;

  /// Answers, unless something has.
  virtual void send(Response response) = 0;

  /// Answers with a head; the body follows by `write` and `end`.
  virtual void start_stream(Response head) = 0;
  virtual bool write(std::string_view chunk, std::function<void()> drained) = 0;
  virtual void end(bool properly) = 0;

  /// The Responder died; answers 500 if nothing else has answered.
  virtual void drop() = 0;

  virtual bool abandoned() const = 0;
  virtual std::size_t queued() const = 0;
  virtual void on_abandoned(std::function<void()> callback) = 0;

  /// Answers with the head of a tunnel. Bytes out go by `write` and `end`, too.
  virtual void start_tunnel(Response head) = 0;
  virtual void on_data(std::function<void(std::string_view bytes, bool last)> callback) = 0;
  virtual void taken(std::size_t count) = 0;
  virtual void end_output() = 0;
};

}  // namespace nomad::net::detail
