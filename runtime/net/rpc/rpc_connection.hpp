// One RPC connection on its socket, the I/O thread it lives on, and the exchanges that link it to
// handlers. Internal to runtime/net.
//
// Threads: a RpcSocket is touched by its worker's thread only, except for what RpcConnection makes
// public, which posts there. Exchanges and streams are shared with handlers: their own state is
// behind their mutex.
//
// States: connecting (dialers) → securing (TLS) → greeting → open → closed. Invariants:
// (1) Until `open` nothing of the peer reaches a handler.
// (2) `out_` holds at most one batch: what is sent next is chosen when the socket takes it.
// (3) `close` runs once: it answers everything that is open, tells the owner, writes one log line.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "runtime/net/rpc/rpc_link.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::net {

class RpcSocket;
class RpcWorker;

/// What all workers share.
struct RpcShared {
  RpcOptions options;
  RpcCallbacks callbacks;
  std::atomic<std::size_t> connections{0};

  std::mutex guard;
  std::unordered_map<std::string, unsigned> per_address;

  bool admit(const std::string& address);
  void leave(const std::string& address);
};

namespace detail {

/// One side of a byte stream. What its owner writes waits in `waiting_` until the protocol takes
/// it; what the peer sent waits in `arrived_` until the owner listens.
class StreamEnd : public RpcStream, public std::enable_shared_from_this<StreamEnd> {
public:
  StreamEnd(std::shared_ptr<RpcWorker> worker, std::size_t limit)
      : worker_{std::move(worker)}, limit_{limit} {}

  bool write(Bytes bytes) override;
  void end() override;
  void on_data(std::function<void(Bytes bytes, bool last)> callback) override;
  void taken(std::size_t count) override;
  void on_writable(std::function<void()> callback) override;
  void on_closed(std::function<void()> callback) override;

  // --- on the worker's thread ---
  void attach(std::shared_ptr<RpcSocket> socket, RpcStreamId id);
  void deliver(Bytes bytes, bool last);
  void push();  ///< Hands what waits to the protocol, then the answer that waits for that.

  /// Whether everything written has gone to the protocol, so that the call may be answered. If not,
  /// `push` answers it by `outcome` later.
  bool finish(const Result<Bytes>& outcome);
  void close();

private:
  void post_push();

  std::shared_ptr<RpcWorker> worker_;
  const std::size_t limit_;
  std::shared_ptr<RpcSocket> socket_;  ///< On the worker's thread.
  RpcStreamId id_ = 0;

  std::mutex guard_;
  std::deque<Bytes> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool push_posted_ = false;
  bool refused_ = false;
  bool ended_ = false;
  bool end_sent_ = false;
  std::optional<Result<Bytes>> outcome_;
  bool closed_ = false;
  std::deque<std::pair<Bytes, bool>> arrived_;
  std::function<void(Bytes, bool)> on_data_;
  std::function<void()> on_writable_;
  std::function<void()> on_closed_;
};

/// A request of the peer.
class RpcExchange {
public:
  RpcExchange(std::shared_ptr<RpcSocket> socket, RpcStreamId id, RpcRequest request);

  RpcRequest request;
  RpcClock::time_point deadline;
  RpcConnectionRef connection;
  std::shared_ptr<StreamEnd> stream;

  void respond(Result<Bytes> outcome);
  void on_cancelled(std::function<void()> callback);
  void cancel();  ///< By the connection.

private:
  std::shared_ptr<RpcSocket> socket_;
  RpcStreamId id_;
  std::mutex guard_;
  bool answered_ = false;
  bool cancelled_ = false;
  std::function<void()> callback_;
};

}  // namespace detail

/// One I/O thread with its connections.
class RpcWorker : public std::enable_shared_from_this<RpcWorker> {
public:
  explicit RpcWorker(std::shared_ptr<RpcShared> shared);

  void start();

  /// Runs `action` on this thread, after what was posted before. Dropped once the worker stopped.
  template <class Action>
  void post(Action action) {
    const std::lock_guard lock{guard_};
    if (!closed_) boost::asio::post(io, std::move(action));
  }

  void add(const std::shared_ptr<RpcSocket>& socket);
  void forget(RpcSocket* socket);

  /// Closes everything and ends the thread. From another thread.
  void stop();

  boost::asio::io_context io{1};
  std::shared_ptr<RpcShared> shared;
  std::string buffer;  ///< What every connection reads into.

private:
  void tick();

  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  std::unordered_map<RpcSocket*, std::shared_ptr<RpcSocket>> sockets_;
  std::mutex guard_;
  bool closed_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

using DialDone = std::function<void(Result<RpcConnectionRef>)>;

class RpcSocket : public RpcConnection, public std::enable_shared_from_this<RpcSocket> {
public:
  using Address = boost::asio::ip::tcp::endpoint;

  /// An accepted socket (`dial` empty), or one that is connecting; should it not come to be, the
  /// `other_addresses` are tried in turn.
  RpcSocket(std::shared_ptr<RpcWorker> worker,
            int fd,
            std::string remote,
            std::string address,
            std::optional<RpcDial> dial,
            DialDone done,
            std::deque<Address> other_addresses = {});
  ~RpcSocket() override;

  /// A socket that is connecting to the first of `addresses` for which that could begin; it and
  /// those before it are taken out.
  static Result<Descriptor> begin_connect(std::deque<Address>& addresses);

  // --- any thread ---
  void call(RpcRequest request, RpcDone done) override;
  StreamCall call_with_stream(RpcRequest request, RpcDone done) override;
  void post(RpcRequest request, std::function<void(Result<>)> done) override;

  const RpcPeer& peer() const override { return peer_; }

  bool is_open() const override { return open_; }

  void close(std::string reason) override;

  std::size_t queued_bytes() const override { return queued_; }

  // --- the worker's thread ---
  void start();
  void check(RpcClock::time_point now);
  void end(const Error& reason);
  void say_goodbye(std::string_view why);
  void answer(RpcStreamId id, Result<Bytes> outcome);
  void flush_soon();

  RpcMux& mux() { return *mux_; }

  const std::shared_ptr<RpcWorker>& worker() const { return worker_; }

private:
  enum class Phase : std::uint8_t { connecting, securing, greeting, open, closed };

  struct Call {
    RpcDone done;
    std::shared_ptr<detail::StreamEnd> stream;
  };

  void connected();
  bool dial_next();
  RpcClock::time_point share_of_dial() const;
  void secure();
  void greet();
  void arm_read();
  void arm_write();
  void readable();
  void resume_input();
  bool take_input(std::size_t count);
  void dispatch(RpcEvents& events);
  void on_event(RpcRequested& event);
  void on_event(RpcAnswered& event);
  void on_event(RpcPosted& event);
  void on_event(RpcCancelled& event);
  void on_event(RpcData& event);
  void on_event(RpcWritable& event);
  void on_event(RpcGreeted& event);
  void on_event(RpcGoodbye& event);
  void begin(RpcRequest request, Call call, std::shared_ptr<RpcStreamId> id);
  void flush();
  void fill();
  void refuse_entry(std::string_view why);
  detail::StreamEnd* stream_of(RpcStreamId id);

  std::shared_ptr<RpcWorker> worker_;
  boost::asio::posix::stream_descriptor socket_;
  const std::string remote_;
  const std::string address_;  ///< Counted under this; empty when we dialed.
  const std::optional<RpcDial> dial_;
  DialDone dial_done_;
  std::optional<TlsSession> tls_;
  std::optional<RpcMux> mux_;
  RpcPeer peer_;
  Phase phase_;
  RpcClock::time_point deadline_;  ///< Of everything before `open`.
  std::deque<Address> other_addresses_;
  RpcClock::time_point address_deadline_;  ///< While connecting: the next one's turn.
  unsigned address_number_ = 0;            ///< Counts those tried.
  std::atomic<bool> open_{false};
  std::atomic<std::size_t> queued_{0};
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool flush_posted_ = false;
  bool read_wants_write_ = false;
  bool input_paused_ = false;  ///< There may be bytes that no poll of the socket shows.
  std::string out_;
  std::size_t out_sent_ = 0;
  std::unordered_map<RpcStreamId, Call> calls_;
  std::unordered_map<RpcStreamId, std::shared_ptr<detail::RpcExchange>> exchanges_;
  std::unordered_map<std::uint64_t, std::function<void(Result<>)>> posts_;
  std::uint64_t next_post_ = 1;
};

}  // namespace nomad::net
