// One server connection, the I/O thread it lives on, and the exchange that links it to a handler's
// Responder. Internal to runtime/net; the only header here that includes Asio.
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
// (2) `out_`, then `big_`, is what the kernel has not taken yet, in order.
// (3) While a request waits for its answer the socket is watched, so that a client that went
//     away is noticed; what it sent beyond is kept up to a bound and not parsed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "runtime/net/http/gzip.hpp"
#include "runtime/net/http/http_parser.hpp"
#include "runtime/net/http/http_server.hpp"

namespace nomad::net {

using Clock = std::chrono::steady_clock;

class Connection;
class Worker;

/// What all workers of a server share. Immutable but for the counters.
struct ServerShared {
  ServerOptions options;
  HttpRouter router;
  ParserLimits limits;
  std::atomic<std::size_t> connections{0};

  std::mutex guard;
  std::unordered_map<std::string, unsigned> per_address;

  /// Takes a place for one more connection of `address`; false when it has too many.
  bool admit(const std::string& address);
  void leave(const std::string& address);
};

namespace detail {

/// One request and the way back to its connection. Shared by the connection and the handler.
class HttpExchange final : public Exchange, public std::enable_shared_from_this<HttpExchange> {
public:
  // --- called by Responder and BodyStream, on any thread ---
  bool post(std::function<void()> work) override;
  void send(Response response) override;
  void start_stream(Response head) override;
  bool write(std::string_view chunk, std::function<void()> drained) override;
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
  void note_thread();

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
  std::deque<std::function<void(Connection&)>> actions_;  ///< Asked of the connection, in order.
  bool is_posted_ = false;  ///< `act` runs or will; Asio keeps no order among posts of threads.
  bool crossed_ = false;    ///< Used by a thread other than the connection's.
  std::atomic<std::size_t> queued_{0};
};

}  // namespace detail

/// One I/O thread with its connections.
class Worker : public std::enable_shared_from_this<Worker> {
public:
  explicit Worker(std::shared_ptr<ServerShared> server);

  void start();

  /// Runs `action` on this thread; drops it when the worker has ended.
  template <class Action>
  void post(Action action);

  bool is_current() const { return std::this_thread::get_id() == thread_.get_id(); }

  /// Takes over an accepted socket. On this thread.
  void adopt(int fd, std::string remote, std::string address);

  void forget(Connection* connection);

  /// Closes idle connections and refuses keep-alive from now on. On this thread.
  void begin_stop();

  /// Closes everything and ends the thread. From another thread.
  void stop();

  std::string_view date_header();

  boost::asio::io_context io{1};
  std::shared_ptr<ServerShared> server;
  std::string buffer;  ///< What every connection reads into first.
  bool stopping = false;

private:
  void tick();
  void run();

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::mutex guard_;
  bool closed_ = false;  ///< Under `guard_`: nothing may be posted any more.
  bool ended_ = false;   ///< On this thread: `stop` has closed everything.
  std::time_t date_second_ = 0;
  std::string date_;
  std::thread thread_;
};

template <class Action>
void Worker::post(Action action) {
  const std::lock_guard lock{guard_};
  if (!closed_) boost::asio::post(io, std::move(action));
}

class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(Worker& worker, int fd, std::string remote, std::string address);
  ~Connection();

  void start();
  void close();

  /// Closes if a deadline has passed.
  void check(Clock::time_point now);

  /// Closes when no request is in work.
  void close_if_idle();

  // --- answers, on the worker's thread, for the exchange in work ---
  void answer(const std::shared_ptr<detail::HttpExchange>& exchange, Response response);
  void start_stream(const std::shared_ptr<detail::HttpExchange>& exchange, Response head);
  void write_chunk(const std::shared_ptr<detail::HttpExchange>& exchange,
                   std::string_view chunk,
                   std::function<void()> drained);
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

  // TLS
  void secure();                         ///< Goes on with the handshake.
  std::optional<std::size_t> receive();  ///< Into the worker's buffer; none: nothing now.

  // reading
  void arm_read();
  void take(std::string_view bytes);
  void readable();
  void keep(std::string_view bytes);
  void consume_pending();
  void begin_request();
  void need_more(bool nothing_left);
  std::string_view consume(std::string_view bytes);
  void dispatch();
  void route();
  void refuse(unsigned status, std::string_view text);
  void peer_closed();
  bool wants_input() const;
  void pump_tunnel();
  void tunnel_in(std::string_view bytes);

  // writing
  void append_head(const Response& response, std::optional<std::size_t> length, bool is_gzip);
  void append_chunk(std::string_view bytes);
  void finish_answer();
  void flush();
  bool send_some();  ///< False when the kernel takes no more (or the peer is gone).
  std::optional<std::size_t> send_plain();  ///< What the kernel took; none: nothing now.
  std::optional<std::size_t> send_secured();
  bool run_drained();
  void arm_write();
  void sent_all();
  void shut_output();

  bool everything_sent() const { return out_.size() == out_sent_ && !big_; }

  std::uint64_t queued_total() const;
  bool is_head() const;

  void set_deadline(std::chrono::milliseconds after) { deadline_ = Clock::now() + after; }

  void no_deadline() { deadline_ = Clock::time_point::max(); }

  Worker& worker_;
  boost::asio::posix::stream_descriptor socket_;
  const std::string remote_;
  const std::string address_;  ///< Counted under this; "" for Unix sockets.
  std::optional<TlsSession> tls_;
  bool is_securing_ = false;       ///< The handshake is under way.
  bool read_wants_write_ = false;  ///< TLS must send before it can read on.
  bool write_wants_read_ = false;

  Phase phase_ = Phase::idle;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool in_dispatch_ = false;  ///< A handler runs: its answer is flushed after it returned.
  bool is_flushing_ = false;
  bool is_first_ = true;  ///< No request has been received yet.
  bool in_body_ = false;  ///< The header of the request is complete.
  bool keep_alive_ = true;
  bool close_when_sent_ = false;
  bool is_chunked_ = false;
  Clock::time_point deadline_;

  RequestParser parser_;
  std::string pending_;  ///< Received and not parsed yet.
  std::shared_ptr<detail::HttpExchange> exchange_;

  std::string out_;
  std::size_t out_sent_ = 0;
  std::shared_ptr<const std::string> big_;  ///< A large body, sent after `out_`.
  std::size_t big_sent_ = 0;
  std::uint64_t sent_total_ = 0;
  std::deque<Drained> drained_;
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
  action(*connection);
}

}  // namespace nomad::net
