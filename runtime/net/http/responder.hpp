// Responder, BodyStream and Tunnel: the answering side of one HTTP request, given to its handler.
//
// A Responder is answered exactly once, from any thread: by a whole `Response`, by opening a stream
// or by a tunnel. One that is destroyed unanswered answers 500, so that no client waits for ever.
// If the client goes away first, `on_abandoned` says so and answers go nowhere.
//
// Threads: every method may be called on any thread, but one at a time per object. Callbacks run
// on an I/O thread and must be quick.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "runtime/net/http/exchange.hpp"

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

  /// Queues the next piece of an answer that is made faster than it is sent, without a bound: only
  /// where `Responder::takes_pieces`. False: nobody wants the rest.
  bool give(std::string piece);

  /// Bytes accepted by `write` and not yet taken by the kernel.
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

/// The connection of a request once it speaks another protocol (status 101): bytes both ways.
/// Destroying it is `close`.
///
/// Memory: of input, at most `tunnel_window_bytes` of the server's options are delivered and not
/// acknowledged, plus one read of 64 KiB; nothing more is read meanwhile, so that the peer waits.
/// Output is bounded as that of a BodyStream, and in practice by what a producer lets wait before
/// it stops for `drained`. The number of tunnels is bounded by the server's connections.
///
/// Threads: `write`, `queued`, `taken` and `end_output` may be called at the same time.
class Tunnel {
public:
  Tunnel() = default;
  explicit Tunnel(std::shared_ptr<detail::Exchange> exchange);
  Tunnel(Tunnel&&) noexcept = default;
  Tunnel& operator=(Tunnel&&) noexcept;
  ~Tunnel();

  /// As BodyStream::write.
  bool write(std::string_view bytes, std::function<void()> drained = {});
  std::size_t queued() const;

  /// What the peer sends from the first byte behind its request on; also what came before this was
  /// set. `last`, with empty bytes, is the end of its input: it may go on reading. Each byte must
  /// be acknowledged by `taken`. The callback is dropped when the tunnel ends. Once.
  void on_data(std::function<void(std::string_view bytes, bool last)> callback);
  void taken(std::size_t count);

  /// Nothing more is written; the peer gets an end of its input and may go on sending.
  void end_output();

  /// The peer is gone in both directions, or the server ends. Called at most once; at once if it
  /// has happened. Not called after `close` and `abort`.
  void on_abandoned(std::function<void()> callback);
  bool abandoned() const;

  /// Ends both directions, after what was written. Input is dropped.
  void close();

  /// Cuts the connection.
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

  /// What hears of the answer first. Before anything is answered.
  void set_gate(std::shared_ptr<detail::AnswerGate> gate) const;

  /// Those of the I/O thread of the request's connection; what is posted is dropped when the client
  /// is gone. Nothing can be posted for a request that another agent passed on.
  Turns turns() const;

  /// Answers. Compression, when the client wants it, happens on the calling thread. Later calls
  /// do nothing.
  void send(Response response);

  /// Whether an answer may begin before it is whole, by `stream` and then `BodyStream::give`: not
  /// where it is compressed at once, or where it waits for somebody else than its client.
  bool takes_pieces() const;

  /// Answers with a status and headers now and a body in pieces.
  BodyStream stream(Response head);

  /// Answers with `head`, status 101 and the headers of the new protocol, and hands the connection
  /// over. It never serves HTTP again.
  Tunnel tunnel(Response head);

  bool abandoned() const;

  /// Called at most once if the client goes away before the answer is complete; at once if it
  /// already has. A later call replaces the callback.
  void on_abandoned(std::function<void()> callback);

private:
  void drop();

  std::shared_ptr<detail::Exchange> exchange_;
};

}  // namespace nomad::net
