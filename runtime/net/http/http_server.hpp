// HttpServer: an HTTP/1.1 server for few threads and many connections.
//
// Each connection belongs to one I/O thread, which parses its requests one after the other (so
// pipelining is safe) and calls the router's handler. Nothing is allocated for an idle
// connection beyond its own record: bytes are read into a buffer that all connections of a thread
// share. Time limits are checked by one coarse tick per thread.
//
// Limits, all in `ServerOptions`: header size and count, body size, connections per address and
// in total, time for a header, for a body, between requests, and for a client to take an answer.
// What exceeds one is answered (431, 413, 429, 503) or closed, and logged at debug level.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/net/http/body_file.hpp"
#include "runtime/net/http/router.hpp"
#include "runtime/net/kept_users.hpp"
#include "runtime/net/socket.hpp"
#include "runtime/net/tls/tls_context.hpp"

namespace nomad::net {

struct ServerOptions {
  /// "127.0.0.1:4646", "[::1]:4646" or "unix:/path". Port 0 takes a free one.
  std::vector<std::string> listen = {"127.0.0.1:4646"};
  unsigned threads = 1;
  Headers extra_headers = {};            ///< Added to every answer.
  std::shared_ptr<TlsContext> tls = {};  ///< Of all but Unix sockets; empty: plain HTTP.

  std::uint32_t header_bytes = 64 * 1024;
  std::uint32_t header_count = 100;
  std::uint64_t body_bytes = 16 * 1024 * 1024;
  std::shared_ptr<BodyFiles> body_files = {};        ///< Of bodies that may be larger than that.
  std::shared_ptr<const KeptUsers> kept_users = {};  ///< Whose requests are kept to something.
  /// 0: no limit. Unix sockets have none, but those that are added by name.
  unsigned connections_per_address = 100;
  /// What the requests of one address, or of a socket that was added by name, may hold together,
  /// in memory and in files, until their connections have the next one or end. What comes in one
  /// piece (64 KiB) is not counted. 0: no limit.
  std::uint64_t held_bytes_per_address = 0;
  unsigned connections = 32 * 1024;
  std::size_t stream_queue_bytes = 4 * 1024 * 1024;
  std::size_t tunnel_window_bytes = 256 * 1024;  ///< Input of a tunnel that may wait.

  std::chrono::milliseconds header_timeout{8'000};  ///< From connect or a request's first byte.
  /// Plus a second per 64 KiB of body; into a file, for each 16 KiB.
  std::chrono::milliseconds body_timeout{10'000};
  std::chrono::milliseconds idle_timeout{120'000};  ///< Between requests.
  std::chrono::milliseconds write_timeout{30'000};  ///< Without progress; streams five times that.
  std::chrono::milliseconds tick{500};
  bool needs_token = false;  ///< All of its requests do (`Request::needs_token`).

  /// Called on an I/O thread when an answer's head has been composed; for metrics.
  std::function<void(const Request&, unsigned status)> observer = {};
};

class HttpServer {
public:
  /// Binds and starts serving. A port in use is an error that names it.
  static Result<HttpServer> start(ServerOptions options, HttpRouter router);

  /// The same with one handler of everything, whatever is asked.
  static Result<HttpServer> start(ServerOptions options, Handler handler);

  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  ~HttpServer();  ///< Stops without patience.

  /// What it really listens on, in the order of the options: "127.0.0.1:40123".
  const std::vector<std::string>& addresses() const;

  /// Serves at one more socket, which listens already; its file is the caller's. The name is none
  /// that another one has. Any thread.
  void add(Descriptor socket, const std::string& name);

  /// Ends what was added by that name, its connections, too. Any thread; later adds come after it.
  void remove(const std::string& name);

  /// Waits until `count` connections are open; whether they are.
  bool wait_for_connections(std::size_t count, std::chrono::milliseconds patience);

  /// Stops accepting, gives answers in flight up to `patience`, then abandons the rest and ends
  /// the threads. Not to be called on an I/O thread.
  void stop(std::chrono::milliseconds patience = std::chrono::milliseconds{0});

  class Core;

private:
  explicit HttpServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace nomad::net
