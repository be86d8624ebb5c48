// Responder and BodyStream: the answering side of one HTTP request, given to its handler.
//
// A Responder is answered exactly once, from any thread: by a whole `Response` or by opening a
// stream. One that is destroyed unanswered answers 500, so that no client waits for ever. If the
// client goes away first, `on_abandoned` says so and answers go nowhere.
//
// Threads: every method may be called on any thread, but one at a time per object. Callbacks run
// on an I/O thread and must be quick.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "runtime/net/exchange.hpp"

namespace nomad::net {

/// A body that is sent piece by piece. Destroying it ends the body properly.
class BodyStream {
public:
  BodyStream() = default;
  explicit BodyStream(std::shared_ptr<detail::Exchange> exchange);
  BodyStream(BodyStream&&) noexcept = default;
  BodyStream& operator=(BodyStream&&) noexcept;
  ~BodyStream();

  /// Queues and flushes `chunk`. `drained`, if given, is called once the kernel has taken all of
  /// it; it is dropped uncalled when the client goes away. False, with nothing queued, when the
  /// client is gone or more than the server's `stream_queue_bytes` are waiting already: a
  /// producer that can't wait ends the stream then.
  bool write(std::string_view chunk, std::function<void()> drained = {});

  /// Bytes accepted and not yet taken by the kernel.
  std::size_t queued() const;

  /// Whether the client went away (or the stream was ended).
  bool abandoned() const;

  /// Called at most once if the client goes away before the end; at once if it already has.
  void on_abandoned(std::function<void()> callback);

  /// Ends the body. The connection can be used again.
  void close();

  /// Ends the connection in the middle of the body, so that the client notices a failure.
  void abort();

  explicit operator bool() const { return exchange_ != nullptr; }

private:
  std::shared_ptr<detail::Exchange> exchange_;
};

class Responder {
public:
  explicit Responder(std::shared_ptr<detail::Exchange> exchange);
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) noexcept;
  ~Responder();

  const Request& request() const;

  /// Answers. Compression, when the client wants it, happens on the calling thread. Later calls
  /// do nothing.
  void send(Response response);

  /// Answers with a status and headers now and a body in pieces.
  BodyStream stream(Response head);

  bool abandoned() const;

  /// Called at most once if the client goes away before the answer is complete; at once if it
  /// already has. A later call replaces the callback.
  void on_abandoned(std::function<void()> callback);

private:
  std::shared_ptr<detail::Exchange> exchange_;
};

}  // namespace nomad::net
