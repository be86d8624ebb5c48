// HttpClient: a small synchronous HTTP/1.1 client for the commands, over TCP or a Unix socket.
// One connection is kept between requests; streams get one of their own.
//
// How it connects, plain or by TLS, is its `Connector`'s to know.
// Not thread-safe. Errors read like Go's, because that is what Nomad's CLI prints:
// `Get "http://127.0.0.1:4646/v1/jobs": dial tcp 127.0.0.1:4646: connect: connection refused`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/net/byte_stream.hpp"
#include "runtime/net/http/http_message.hpp"

namespace nomad::net {

struct ClientRequest {
  std::string method = "GET";
  std::string target;  ///< Path and query, escaped: "/v1/job/web?namespace=default".
  Headers headers = {};
  std::string body = {};

  /// The body instead, `pieces_size` bytes in all, piece by piece; "" is its end.
  std::function<Result<std::string>()> next_piece = {};
  std::uint64_t pieces_size = 0;
};

struct ClientResponse {
  unsigned status = 0;
  Headers headers;
  std::string body;

  /// "" when there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpClientOptions {
  /// Or several, separated by commas: the first one that can be reached is spoken to, from then on.
  std::string address = "http://127.0.0.1:4646";
  Headers headers = {};  ///< On every request, such as X-Nomad-Token.
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds answer_timeout{0};    ///< For a whole exchange; 0: none.
  std::size_t body_bytes = std::size_t{1} << 30;  ///< Larger answers are refused.
  Connector connector = {};                       ///< Empty: `connect_plain`; required for https.
};

namespace detail {
class ClientConnection;
}

/// An answer whose body is read as it comes. Closes its connection when destroyed.
class ResponseStream {
public:
  ResponseStream(ResponseStream&&) noexcept;
  ResponseStream& operator=(ResponseStream&&) noexcept;
  ~ResponseStream();

  unsigned status() const;
  const Headers& headers() const;

  /// The next piece of the body; "" at its end. `Errc::timeout` when nothing came in `timeout`
  /// (0: wait for ever); the stream can be read on then.
  Result<std::string> read(std::chrono::milliseconds timeout = std::chrono::milliseconds{0});

  /// The rest of the body.
  Result<std::string> read_all();

  /// For poll(2). Bytes may also be buffered already: read with a short timeout first.
  int native_handle() const;

private:
  friend class HttpClient;
  explicit ResponseStream(std::unique_ptr<detail::ClientConnection> connection);

  std::unique_ptr<detail::ClientConnection> connection_;
};

/// The addresses of a list that commas separate.
std::vector<std::string> split_addresses(std::string_view list);

/// A connection that speaks another protocol from now on, or the answer that refused it.
struct Upgraded {
  std::unique_ptr<ByteStream> stream;  ///< Null: refused.
  std::string early;                   ///< What came right behind the answer.
  ClientResponse answer;
};

class HttpClient {
public:
  static Result<HttpClient> make(HttpClientOptions options);

  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// One exchange. A read is tried once more on a new connection when the kept one turns out
  /// closed; a write is not, because it may have happened.
  Result<ClientResponse> send(const ClientRequest& request);

  /// Sends the request and returns once the answer's header is there.
  Result<ResponseStream> open(const ClientRequest& request);

  /// Asks for another protocol (by the headers of `request`), on a connection of its own.
  Result<Upgraded> upgrade(const ClientRequest& request);

  /// The endpoint as a URL, without a path: "http://127.0.0.1:4646". Of several the one that was
  /// reached last.
  const std::string& address() const;

private:
  HttpClient(HttpClientOptions options, std::vector<Endpoint> endpoints);

  /// Of several addresses to the first one from `current_` on that can be reached.
  Result<std::unique_ptr<detail::ClientConnection>> connect(Deadline deadline);
  Result<std::unique_ptr<detail::ClientConnection>> connect_to_current(Deadline deadline);

  const Endpoint& endpoint() const { return endpoints_[current_]; }

  void turn_to(std::size_t position);
  Result<ClientResponse> exchange(const ClientRequest& request, bool& was_stale);
  static Result<> send_pieces(const ClientRequest& request,
                              detail::ClientConnection& connection,
                              Deadline deadline);
  Error explain(const ClientRequest& request, const Error& error) const;
  std::string render(const ClientRequest& request) const;

  HttpClientOptions options_;
  std::vector<Endpoint> endpoints_;
  std::size_t current_ = 0;
  std::unique_ptr<detail::ClientConnection> kept_;
};

}  // namespace nomad::net
