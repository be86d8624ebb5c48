// What is asked of a server by HTTP, by what rules, and what comes of it: the values of
// AsyncHttpClient.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/net/byte_stream.hpp"
#include "runtime/net/http/http_client.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::net {

struct HttpRequest {
  Endpoint to;  ///< "http", "https" or "unix"; its base path is not used.
  std::string method = "GET";
  std::string target = "/";  ///< Path and query, escaped.
  Headers headers{};  ///< Those that are missing of Host, User-Agent, Content-Length are put.
  std::string body{};

  std::shared_ptr<const TlsContext> tls{};  ///< Whom to trust; for https.
  /// Gives `tls` when there is none, as a redirect led to https. On the client's thread; may be
  /// missing.
  std::function<Result<std::shared_ptr<const TlsContext>>()> trust{};

  std::string tls_name{};      ///< To whom the certificate must be made out; "": to the host.
  std::string tls_protocol{};  ///< The only one that is offered by ALPN; "": none is.

  bool keeps_connection = true;  ///< False: it has one of its own, from its beginning to its end.
  bool upgrades = false;         ///< An answer of 101 makes it a tunnel; `headers` ask for it.

  /// The redirect that fails the request, as in Go's client: of 10, nine are followed. 0: a
  /// redirect is an answer like others (request_text.hpp).
  int most_redirects = 0;
  bool repeats_body = true;  ///< False: 307 and 308 are answers like others.
};

/// Of one request; 0: for ever.
struct HttpLimits {
  std::chrono::milliseconds connect{0};       ///< From the name to TLS.
  std::chrono::milliseconds header{0};        ///< The same, and until the answer begins.
  std::chrono::milliseconds silence{0};       ///< Between two pieces of the body.
  std::chrono::milliseconds whole{0};         ///< With redirects.
  std::size_t body_bytes = 32 * 1024 * 1024;  ///< Of a body that is kept; not of a stream.
};

/// Why there is no whole answer.
struct HttpClientError {
  enum class Kind : std::uint8_t {
    invalid,    ///< The request is no HTTP: it was not sent.
    resolve,    ///< The host has no address.
    forbidden,  ///< An address that the client must not connect to.
    connect,
    tls,  ///< No TLS with the peer, or not the certificate that was wanted.
    timeout,
    closed,     ///< The peer hung up.
    malformed,  ///< What came is no HTTP.
    too_large,
    redirects,  ///< Too many, or to where nobody can go.
    refused,    ///< By who took the pieces: `code` is theirs.
  };

  Kind kind;
  Errc code;
  std::string what;   ///< In Go's words where it has some: "dial tcp 10.0.0.1:80: i/o timeout".
  std::string asked;  ///< `Get "http://10.0.0.1:80/x"`, where a redirect may have led; "": nothing.

  /// For those that pass it on.
  Error error() const { return {code, asked.empty() ? what : asked + ": " + what}; }
};

/// Whole, or as much as has come, header first, when something went wrong.
struct HttpOutcome {
  ClientResponse answer{};
  std::optional<HttpClientError> failure{};
};

/// A connection that carries bytes of another protocol. Lives until its request ends; on the
/// client's thread alone.
class HttpTunnel {
public:
  virtual void write(std::string_view bytes) = 0;

  /// Bytes that the peer has not taken yet.
  virtual std::size_t queued() const = 0;

  /// The peer gets an end of its input, behind what was written.
  virtual void end_output() = 0;

  /// While paused nothing is read.
  virtual void pause(bool is_paused) = 0;

  /// The request ends; nobody is told any more.
  virtual void close() = 0;

protected:
  ~HttpTunnel() = default;
};

/// What is told of one request, on the client's thread, one after the other; must be quick. Each
/// may be missing.
struct HttpHandlers {
  /// Once, at the end; not after `cancel`, nor when the client goes.
  std::function<void(HttpOutcome)> ended{};

  /// The next piece of a success's body, which is not kept then, or of a tunnel. An error ends the
  /// request with it.
  std::function<Result<>(std::string_view)> piece{};

  /// The header has come, of an answer that is not a redirect to follow. False: that is enough; it
  /// ends with what there is.
  std::function<bool(const ClientResponse&)> head{};

  /// The tunnel stands: pieces come, and the end by `ended`.
  std::function<void(HttpTunnel&)> opened{};

  /// The peer has taken all that was written into the tunnel.
  std::function<void()> drained{};

  /// About twice a second.
  std::function<void()> tick{};
};

}  // namespace nomad::net
