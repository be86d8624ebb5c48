// RpcNetwork: the I/O threads, listeners and connections of the protocol between nodes. Sockets
// and TLS here, the protocol in RpcMux.
//
// Each connection lives on one I/O thread; its public methods may be called on any thread and post
// to that one. Callbacks run on I/O threads and must be quick: they hand over to an actor.
//
// Time limits: `handshake_timeout` for TLS and hello together, then the silence limits of
// RpcLimits, which a ping keeps off, so that a peer that vanished is noticed and an idle one is
// not disturbed. Every end of a connection is one log line that says why.
//
// May depend on: runtime/base.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/bytes.hpp"
#include "runtime/base/result.hpp"
#include "runtime/net/rpc/rpc_mux.hpp"
#include "runtime/net/tls/tls_context.hpp"

namespace nomad::net {

class KeptUsers;

/// Who is at the other end, as far as the connection knows.
struct RpcPeer {
  std::string remote;  ///< "10.0.0.7:41234"
  bool is_tls = false;
  TlsPeer certificate;    ///< Verified.
  RpcHello hello;         ///< Its claims; what contradicts the certificate was refused.
  bool accepted = false;  ///< The peer dialed us.
};

/// How a call ended.
struct RpcReply {
  Result<Bytes> outcome = Error{};
  bool was_sent = true;  ///< False: the peer surely did nothing.
  bool by_peer = false;  ///< True: the peer itself answered, by a value or an error.
};

using RpcDone = std::function<void(RpcReply)>;

/// One end of a byte stream. Thread-safe. Callbacks run on the connection's thread.
class RpcStream {
public:
  virtual ~RpcStream() = default;

  /// Queues bytes. False, with nothing queued, while a window's worth waits already (`on_writable`
  /// comes then) or when the stream is gone.
  virtual bool write(Bytes bytes) = 0;

  /// No more bytes from this side.
  virtual void end() = 0;

  /// Bytes of the peer; empty `bytes` with `last` is its end. What came before is kept until this
  /// is set. Each delivery must be acknowledged by `taken`, which opens the window again.
  virtual void on_data(std::function<void(Bytes bytes, bool last)> callback) = 0;
  virtual void taken(std::size_t count) = 0;

  virtual void on_writable(std::function<void()> callback) = 0;

  /// The call behind the stream is over (answered, cancelled, connection lost): no more data.
  virtual void on_closed(std::function<void()> callback) = 0;
};

class RpcConnection {
public:
  virtual ~RpcConnection() = default;

  /// `done` is called exactly once; after the network has stopped it is dropped.
  virtual void call(RpcRequest request, RpcDone done) = 0;

  /// The same with a byte stream beside it. Destroying the stream does not end the call; `cancel`
  /// does.
  struct StreamCall {
    std::shared_ptr<RpcStream> stream;
    std::function<void()> cancel;
  };

  virtual StreamCall call_with_stream(RpcRequest request, RpcDone done) = 0;

  /// One way. `done` when the request has been handed to the kernel, or will not be.
  virtual void post(RpcRequest request, std::function<void(Result<>)> done) = 0;

  /// After hello.
  virtual const RpcPeer& peer() const = 0;

  virtual bool is_open() const = 0;

  /// Ends it; everything open fails with `reason`.
  virtual void close(std::string reason) = 0;

  /// Bytes queued and not yet taken by the kernel.
  virtual std::size_t queued_bytes() const = 0;
};

using RpcConnectionRef = std::shared_ptr<RpcConnection>;

namespace detail {
class RpcExchange;
}

/// A request of a peer and the way back. Answered exactly once, from any thread; destroyed
/// unanswered it answers `internal`. Of a one-way request answers go nowhere.
class RpcResponder {
public:
  explicit RpcResponder(std::shared_ptr<detail::RpcExchange> exchange);
  RpcResponder(RpcResponder&&) noexcept = default;
  RpcResponder& operator=(RpcResponder&&) noexcept;
  ~RpcResponder();

  const RpcRequest& request() const;
  RpcClock::time_point deadline() const;
  const RpcConnectionRef& connection() const;

  void respond(Bytes body);
  void fail(const Error& error);

  /// Called at most once if the caller withdraws, its deadline passes or the connection ends; at
  /// once if that has happened.
  void on_cancelled(std::function<void()> callback);

  /// The byte stream of a request that has one; null otherwise.
  std::shared_ptr<RpcStream> stream() const;

private:
  std::shared_ptr<detail::RpcExchange> exchange_;
};

/// What the network tells; on I/O threads.
struct RpcCallbacks {
  std::function<void(RpcResponder)> on_request;
  std::function<void(const RpcConnectionRef&)> on_open = {};  ///< After hello, either side.
  std::function<void(const RpcConnectionRef&, const Error& why)> on_closed = {};
};

struct RpcOptions {
  RpcHello hello;
  RpcLimits limits = {};
  unsigned threads = 2;
  std::shared_ptr<TlsContext> tls = {};  ///< Empty: plain TCP.
  bool verify_role = false;  ///< A peer's certificate must be made out to its role and region.
  std::shared_ptr<const KeptUsers> kept_users = {};  ///< Of this machine, who may not come at all.
  unsigned connections_per_address = 100;
  unsigned connections = 16 * 1024;
  std::chrono::milliseconds handshake_timeout{5'000};
  std::chrono::milliseconds connect_timeout{5'000};  ///< Of all addresses of a name together.
  /// The addresses of a host's name, in the order in which they are tried; empty: the system says.
  std::function<std::vector<std::string>(const std::string& host)> resolve = {};
};

struct RpcDial {
  std::string address;  ///< "10.0.0.7:4647", "[::1]:4647", "name:4647"
  bool for_raft = false;
  RpcRole role = RpcRole::server;  ///< Who is expected there.
  std::string region = {};         ///< Expected; empty: any.
};

class RpcNetwork {
public:
  static Result<std::unique_ptr<RpcNetwork>> start(RpcOptions options, RpcCallbacks callbacks);

  RpcNetwork(const RpcNetwork&) = delete;
  ~RpcNetwork();

  /// Listens on "127.0.0.1:4647" (port 0: a free one); returns what it really is.
  Result<std::string> listen(const std::string& address);

  /// Connects, greets, and hands over the connection or why there is none.
  void dial(RpcDial where, std::function<void(Result<RpcConnectionRef>)> done);

  /// Waits until `count` connections are open; whether they are.
  bool wait_for_connections(std::size_t count, std::chrono::milliseconds patience);

  /// Says goodbye, closes everything and ends the threads. Not on an I/O thread.
  void stop();

  class Core;

private:
  explicit RpcNetwork(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

/// "server.global.nomad": the name in the certificate of who has that role.
std::string certificate_name(RpcRole role, std::string_view region);

/// Whether the peer may be what it says. A certificate of a client, or of servers of other regions,
/// never makes a server of this one, whatever the options; with `verify_role` the certificate must
/// be made out to role and region. Clients must be of `own_region`.
Result<> check_claims(const RpcPeer& peer, bool verify_role, std::string_view own_region);

}  // namespace nomad::net
