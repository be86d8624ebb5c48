// TcpTransport: the Transport of real life: one listening port, connections by runtime/net, a pool
// of them by address and lane, and the connections of client nodes by node.
//
// Owns:   net::RpcNetwork with its I/O threads; the pool; calls that wait for a connection.
// Takes:  what Transport takes; from its own I/O threads, connections that opened and closed.
// Parent: server, restart. Without a server: root. Its connections stay; calls are told
//         `unavailable`, posts that wait are dropped. Whoever has started it calls `stop` before it
//         stops the actor system.
// Ends:   by `stop`.
//
// Calls wait for a connection in the making, at most `max_waiting` of them. An address that could
// not be reached fails calls at once for `retry_after`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "actors/rpc/router.hpp"
#include "actors/rpc/transport.hpp"

namespace nomad::rpc {

struct TcpTransportOptions {
  net::RpcOptions network;
  std::string listen;       ///< "127.0.0.1:4647"; empty: dials only.
  std::string also_listen;  ///< A second one, for the same; whether it is free is not important.
  std::chrono::milliseconds retry_after{250};
  std::size_t max_waiting = 4096;  ///< Per address.
};

class TcpTransport {
public:
  /// `router` serves what arrives, and may be called on I/O threads from now on.
  static Result<TcpTransport> start(const actor::Owner& owner,
                                    TcpTransportOptions options,
                                    std::shared_ptr<const MethodRouter> router);

  TcpTransport(TcpTransport&&) noexcept;
  TcpTransport& operator=(TcpTransport&&) noexcept;
  ~TcpTransport();

  const Transport& handle() const;

  /// Where it listens, "127.0.0.1:4647"; empty without listening.
  const std::string& address() const;

  /// Closes everything. Not on an I/O thread.
  void stop();

private:
  struct Parts;
  explicit TcpTransport(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nomad::rpc
