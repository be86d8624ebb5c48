// ByteStream: a connection for who has time to wait, with a deadline: the commands. Endpoint: where
// it leads. The sockets of the event loops stand on the same Channel (stream_socket.hpp).
//
// Not thread-safe. Errors read like Go's.
//
// May depend on: runtime/base.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/net/channel.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::net {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// A connected peer. What waits does so until `deadline` at most (`Errc::timeout`).
class ByteStream {
public:
  explicit ByteStream(Descriptor socket);
  ByteStream(const ByteStream&) = delete;
  ~ByteStream();

  /// TLS from now on, with its handshake.
  Result<> secure(TlsSession session, Deadline deadline);

  /// At least one byte; 0 when the peer has closed.
  Result<std::size_t> read(char* buffer, std::size_t size, Deadline deadline);

  /// All of `bytes`.
  Result<> write(std::string_view bytes, Deadline deadline);

  /// As many of `bytes` as go without waiting; 0: poll for writing.
  Result<std::size_t> write_some(std::string_view bytes);

  /// For poll(2), beside other inputs.
  int native_handle() const { return socket_.fd; }

  /// Whether a read would return something that no poll shows.
  bool has_buffered() const { return channel_.has_buffered(); }

private:
  Result<> wait(IoState state, Deadline deadline) const;

  Descriptor socket_;
  Channel channel_;
};

/// Where a client connects to.
struct Endpoint {
  std::string scheme;  ///< "http", "https" or "unix"
  std::string host;    ///< Without brackets; the path for "unix".
  std::string port;
  std::string base_path;  ///< Put before every target; "" as a rule.

  /// "http://host:port", "https://…", "unix:///path". Errors name the address.
  static Result<Endpoint> parse(std::string_view address);
};

using Connector
    = std::function<Result<std::unique_ptr<ByteStream>>(const Endpoint&, Deadline deadline)>;

/// TLS over TCP for https, plain for the rest. The certificate must be of the context's CA and made
/// out to `server_name`, or to the host when that is empty.
Connector secure_connector(std::shared_ptr<const TlsContext> context, std::string server_name);

/// Plain TCP (every address of the name is tried) or Unix socket.
Result<std::unique_ptr<ByteStream>> connect_plain(const Endpoint& endpoint, Deadline deadline);

}  // namespace nomad::net
