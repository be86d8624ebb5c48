// One RPC connection on its socket, and the I/O thread it lives on. Internal to runtime/net.
//
// Threads: a RpcSocket is touched by its worker's thread only, except for what RpcConnection makes
// public, which posts there.
//
// States: connecting (dialers) → securing (TLS) → greeting → open → closed. Invariants:
// (1) Until `open` nothing of the peer reaches a handler.
// (2) The output of the socket is at most one batch: what is sent next is chosen when the kernel
//     takes it.
// (3) `end` runs once: it answers everything that is open, tells the owner, writes one log line.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <boost/asio/ip/tcp.hpp>

#include "runtime/net/listener.hpp"
#include "runtime/net/rpc/rpc_exchange.hpp"
#include "runtime/net/stream_socket.hpp"

namespace nomad::net {

/// What all workers share. Immutable.
struct RpcShared {
  RpcOptions options;
  RpcCallbacks callbacks;
};

/// One I/O thread with its connections.
class RpcWorker : public SocketLoop {
public:
  explicit RpcWorker(std::shared_ptr<const RpcShared> all);

  const std::shared_ptr<const RpcShared> shared;
};

using DialDone = std::function<void(Result<RpcConnectionRef>)>;

class RpcSocket final : public RpcConnection, public StreamSocket {
public:
  using Address = boost::asio::ip::tcp::endpoint;

  /// Dialed: should the connection not come to be, the other addresses are tried in turn.
  struct Dialed {
    RpcDial where;
    DialDone done;
    std::deque<Address> other_addresses;
  };

  /// An accepted socket, or one that is connecting.
  RpcSocket(std::shared_ptr<RpcWorker> worker,
            Descriptor socket,
            std::string remote,
            ConnectionLimits::Slot slot,
            std::optional<Dialed> dialed);
  ~RpcSocket() override;

  /// A socket that is connecting to the first of `addresses` for which that could begin; it and
  /// those before it are taken out.
  static Result<Descriptor> connect_to_one(std::deque<Address>& addresses);

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
  void check(RpcClock::time_point now) override;
  void end(const Error& reason);
  void say_goodbye(std::string_view why);
  void answer(RpcStreamId id, Result<Bytes> outcome);
  using StreamSocket::flush_soon;

  RpcMux& mux() { return *mux_; }

  const std::shared_ptr<RpcWorker>& worker() const { return worker_; }

private:
  enum class Phase : std::uint8_t { connecting, securing, greeting, open, closed };

  struct Call {
    RpcDone done;
    std::shared_ptr<detail::StreamEnd> stream;
  };

  // the socket
  void on_connected(int error_number) override;
  void on_open() override;

  bool wants_input() const override { return mux_->wants_input(); }

  void on_input(std::string_view bytes) override;
  void on_input_end() override;

  void on_failure(const Error& why) override;

  void fill() override;
  void on_progress() override;
  void on_sent() override;

  std::shared_ptr<RpcSocket> self();
  bool dial_next();
  void finish_dial(const Result<RpcConnectionRef>& outcome);
  RpcClock::time_point share_of_dial() const;
  void secure();
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
  void refuse_entry(std::string_view why);
  detail::StreamEnd* stream_of(RpcStreamId id);

  std::shared_ptr<RpcWorker> worker_;
  const std::string remote_;
  ConnectionLimits::Slot slot_;
  std::optional<Dialed> dialed_;
  std::optional<RpcMux> mux_;
  RpcPeer peer_;
  Phase phase_;
  RpcClock::time_point deadline_;          ///< Of everything before `open`.
  RpcClock::time_point address_deadline_;  ///< While connecting: the next one's turn.
  std::atomic<bool> open_{false};
  std::atomic<std::size_t> queued_{0};
  std::unordered_map<RpcStreamId, Call> calls_;
  std::unordered_map<RpcStreamId, std::shared_ptr<detail::RpcExchange>> exchanges_;
  std::unordered_map<std::uint64_t, std::function<void(Result<>)>> posts_;
  std::uint64_t next_post_ = 1;
};

}  // namespace nomad::net
