// Channel: the bytes of one connected, non-blocking socket, plain or TLS by the same calls. Below
// the sockets of the event loops (StreamSocket) as below those of blocking clients (ByteStream).
//
// Calls do as much as the socket allows and say what to poll for. TLS may want to write in order to
// read, and the other way round; both directions are independent, so that one can be waited for
// while the other goes on. The socket stays the owner's. Not thread-safe. POSIX and TlsSession, no
// Asio.
//
// May depend on: runtime/base.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/net/tls/tls_context.hpp"

namespace nomad::net {

using IoState = TlsSession::State;
using IoOutcome = TlsSession::Outcome;

class Channel {
public:
  explicit Channel(int socket) : socket_{socket} {}

  /// Another socket instead, without TLS.
  void reset(int socket) {
    socket_ = socket;
    tls_.reset();
  }

  /// TLS from now on; `handshake` comes first.
  void secure(TlsSession session) { tls_.emplace(std::move(session)); }

  bool is_secure() const { return tls_.has_value(); }

  /// `done` at once without TLS.
  Result<IoOutcome> handshake();

  /// `closed`: the peer sends no more. Fewer bytes than `size` of a plain socket: there are no more
  /// now.
  Result<IoOutcome> read(char* buffer, std::size_t size);

  /// Of `first` and then `second`; both in one system call if there is no TLS. After `want_*` the
  /// same bytes come again, perhaps with more behind them.
  Result<IoOutcome> write(std::string_view first, std::string_view second = {});

  /// Bytes that no poll of the socket would show.
  bool has_buffered() const { return tls_ && tls_->has_pending(); }

  /// The peer gets an end of its input; does not wait.
  void end_output();

  /// Tells the peer that the connection ends here; does not wait, and closes nothing.
  void say_goodbye();

  /// Whose certificate was verified; empty without TLS.
  TlsPeer peer() const { return tls_ ? tls_->peer() : TlsPeer{}; }

private:
  int socket_;
  std::optional<TlsSession> tls_;
};

}  // namespace nomad::net
