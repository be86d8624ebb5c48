// One connection of the HTTP server on its socket, the I/O thread it lives on, and the exchange
// that links it to a handler's Responder. Internal to runtime/net.
//
// Threads: a Connection is touched by its worker's thread only. An HttpExchange is shared with the
// handler: what both sides use is behind its mutex, everything else happens by posting to the
// worker.
//
// States of a connection:
//
//     idle --first byte--> receiving --whole request--> waiting --send()--> idle | draining
//                                                         |
//                                                         +--stream()--> streaming --close()--> ...
//                                                         +--tunnel()--> tunneling --close()-->
//                                                                                       draining
//     any --peer gone, limit, timeout--> closed
//
// Invariants:
// (1) At most one exchange is unanswered per connection; the next request is parsed after it.
// (2) While a request waits for its answer the socket is watched, so that a client that went
//     away is noticed; what it sent beyond is kept up to a bound and not parsed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/guard.hpp"
#include "runtime/net/http/gzip.hpp"
#include "runtime/net/http/http_parser.hpp"
#include "runtime/net/http/http_server.hpp"
#include "runtime/net/listener.hpp"
#include "runtime/net/stream_socket.hpp"

namespace nomad::net {

using Clock = std::chrono::steady_clock;

class Connection;
class Worker;

/// Says `text` to a client whose connection is not taken, before it is closed.
void turn_away(int socket, std::string_view text);

/// What all workers of a server share. Immutable.
struct ServerShared {
  ServerOptions options;
  Handler handler;
  ParserLimits limits;
};

namespace detail {

/// One request and the way back to its connection. Shared by the connection and the handler.
class HttpExchange final : public Exchange, public std::enable_shared_from_this<HttpExchange> {
public:
  // --- called by Responder and BodyStream, on any thread ---
  bool take(Turns::Action& action) override;
  void send(Response response) override;
  void prepare(Response& response) override;
  void let_go() override;
  void start_stream(Response head) override;
  bool write(std::string_view chunk, std::function<void()> drained) override;
  bool takes_pieces() const override;
  bool give(std::shared_ptr<const std::string> piece) override;
  void end(bool properly) override;
  void drop() override;
  bool abandoned() const override;

  std::size_t queued() const override { return queued_.load(std::memory_order_relaxed); }

  void on_abandoned(std::function<void()> callback) override;

  void start_tunnel(Response head) override;
  void on_data(std::function<void(std::string_view bytes, bool last)> callback) override;
  void taken(std::size_t count) override;
  void end_output() override;

  // --- called by the connection, on its thread ---
  void attach(std::shared_ptr<Connection> connection, std::shared_ptr<Worker> worker);
  void detach();  ///< The answer is complete.
  /// The client is gone; tells the handler. An answer is still taken if `may_answer`, because
  /// a client that only closed its sending side can read one.
  void abandon(bool may_answer);

  bool stayed_on_thread() const;  ///< No other thread has used it: it can serve again.

  void drained(std::size_t bytes) { queued_.fetch_sub(bytes, std::memory_order_relaxed); }

  bool listens() const;  ///< Somebody takes the input of the tunnel.
  void deliver(std::string_view bytes, bool last);

private:
  /// Runs `action` on the connection's thread, if the connection still waits for this exchange.
  template <class Action>
  void on_connection(Action action);

  /// Closes the connection if `action` throws: what it left of an answer no client understands.
  template <class Action>
  static void act_on(Connection& connection, Action&& action);
  void note_thread();
  void compress(Response& response) const;

  // Both under the lock.
  bool may_act_here() const;  ///< On the connection's thread, and nothing else comes first.
  void act_later(std::function<void(Connection&)> action);
  void act(Connection& connection);

  mutable std::mutex guard_;
  std::shared_ptr<Connection> connection_;  ///< Null once detached or abandoned.
  std::shared_ptr<Worker> worker_;
  std::function<void()> abandoned_;
  std::shared_ptr<const std::function<void(std::string_view, bool)>> on_data_;
  bool is_abandoned_ = false;
  bool is_answered_ = false;
  bool output_ended_ = false;
  std::list<std::function<void(Connection&)>> actions_;  ///< Asked of the connection, in order.
  bool is_posted_ = false;  ///< `act` runs or will; Asio keeps no order among posts of threads.
  bool crossed_ = false;    ///< Used by a thread other than the connection's.
  std::atomic<std::size_t> queued_{0};
};

}  // namespace detail

/// One I/O thread with its connections.
class Worker : public SocketLoop, public std::enable_shared_from_this<Worker> {
public:
  explicit Worker(std::shared_ptr<ServerShared> shared);

  /// Takes over an accepted socket. On this thread.
  void adopt(Accepted accepted);

  /// Closes idle connections and refuses keep-alive from now on. On this thread.
  void begin_stop();

  std::string_view date_header();

  std::shared_ptr<ServerShared> server;
  bool stopping = false;

private:
  std::time_t date_second_ = 0;
  std::string date_;
};

class Connection final : public StreamSocket {
public:
  Connection(Worker& worker, Accepted accepted);
  ~Connection() override;

  void start();
  void close();

  /// Closes if a deadline has passed.
  void check(Clock::time_point now) override;

  /// Closes when no request is in work.
  void close_if_idle();

  const std::string& remote() const { return remote_; }

  // --- answers, on the worker's thread, for the exchange in work ---
  void answer(const std::shared_ptr<detail::HttpExchange>& exchange, Response response);
  void start_stream(const std::shared_ptr<detail::HttpExchange>& exchange, Response head);
  void write_chunk(const std::shared_ptr<detail::HttpExchange>& exchange,
                   std::string_view chunk,
                   std::function<void()> drained);
  void give_piece(const std::shared_ptr<detail::HttpExchange>& exchange,
                  std::shared_ptr<const std::string> piece);
  void end_stream(const std::shared_ptr<detail::HttpExchange>& exchange, bool properly);
  void start_tunnel(const std::shared_ptr<detail::HttpExchange>& exchange, Response head);
  void take_from_tunnel(std::size_t count);
  void end_tunnel_output(const std::shared_ptr<detail::HttpExchange>& exchange);
  void pump_tunnel_soon();

private:
  enum class Phase : std::uint8_t {
    idle,
    receiving,
    waiting,
    streaming,
    tunneling,
    draining,
    closed
  };

  struct Drained {
    std::uint64_t at;  ///< Called when this many bytes have been sent in all.
    std::size_t bytes;
    std::function<void()> callback;
  };

  // the socket
  void on_open() override;
  bool wants_input() const override;
  void on_input(std::string_view bytes) override;
  void on_input_end() override;
  void on_failure(const Error& why) override;
  void on_progress() override;
  void on_blocked() override;
  void on_sent() override;

  // reading
  void keep(std::string_view bytes);
  void consume_pending();
  void begin_request();
  void need_more(bool nothing_left);
  std::string_view consume(std::string_view bytes);
  void dispatch();
  void route();
  void refuse(unsigned status, std::string_view text);
  void pump_tunnel();
  void tunnel_in(std::string_view bytes);

  // writing
  void append_head(const Response& response, std::optional<std::size_t> length, bool is_gzip);
  void append_chunk(std::string_view bytes);
  void finish_answer();
  void shut_output();

  std::shared_ptr<Connection> self();
  bool is_head() const;

  void set_deadline(std::chrono::milliseconds after) { deadline_ = Clock::now() + after; }

  void no_deadline() { deadline_ = Clock::time_point::max(); }

  Worker& worker_;
  const std::string limits_;
  const std::string remote_;
  const bool is_unix_;
  ConnectionLimits::Slot slot_;

  Phase phase_ = Phase::idle;
  bool in_dispatch_ = false;      ///< A handler runs: its answer is flushed after it returned.
  bool is_first_ = true;          ///< No request has been received yet.
  bool in_body_ = false;          ///< The header of the request is complete.
  std::uint64_t renewed_at_ = 0;  ///< Bytes of a file's body when its deadline was last set.
  bool keep_alive_ = true;
  bool close_when_sent_ = false;
  bool is_chunked_ = false;
  Clock::time_point deadline_;

  RequestParser parser_;
  std::string pending_;  ///< Received and not parsed yet.
  std::shared_ptr<detail::HttpExchange> exchange_;

  std::list<Drained> drained_;
  std::unique_ptr<GzipStream> gzip_;

  // Of a tunnel; `pending_` is input that nobody has taken yet.
  std::size_t tunnel_waiting_ = 0;  ///< Delivered and not acknowledged.
  bool tunnel_peer_ended_ = false;
  bool tunnel_end_told_ = false;
  bool tunnel_output_ended_ = false;
  bool output_shut_ = false;
  bool tunnel_pump_posted_ = false;
};

template <class Action>
void detail::HttpExchange::on_connection(Action action) {
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock{guard_};
    if (!connection_) return;
    note_thread();
    if (!may_act_here()) return act_later(std::move(action));
    connection = connection_;
  }
  act_on(*connection, action);
}

template <class Action>
void detail::HttpExchange::act_on(Connection& connection, Action&& action) {
  if (!guarded("http", [&] { action(connection); })) connection.close();
}

}  // namespace nomad::net
