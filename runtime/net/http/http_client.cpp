#include "runtime/net/http/http_client.hpp"

#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <netdb.h>

#include "runtime/net/http/http_parser.hpp"
#include "runtime/net/socket.hpp"
#include "runtime/net/tls/tls_context.hpp"

namespace nomad::net {
namespace {

using Clock = std::chrono::steady_clock;

Error timed_out() {
  return {Errc::timeout, "context deadline exceeded"};
}

/// Waits until `fd` is ready for `events`.
Result<> wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    int milliseconds = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      milliseconds = static_cast<int>(std::max<std::int64_t>(0, left.count()));
    }
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, milliseconds);
    if (ready > 0) return {};
    if (ready == 0) return timed_out();
    if (errno != EINTR) return errno_error("poll", errno);
  }
}

class PlainStream final : public ByteStream {
public:
  explicit PlainStream(int fd) : fd_{fd} {}

  ~PlainStream() override { ::close(fd_); }

  Result<std::size_t> read(char* buffer, std::size_t size, Deadline deadline) override {
    for (;;) {
      const auto got = ::recv(fd_, buffer, size, 0);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        return Error{Errc::io, "read: " + go_text(errno)};
      NOMAD_TRY(wait_for(fd_, POLLIN, deadline));
    }
  }

  Result<> write(std::string_view bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        NOMAD_TRY(wait_for(fd_, POLLOUT, deadline));
      } else if (errno != EINTR) {
        return Error{Errc::io, "write: " + go_text(errno)};
      }
    }
    return {};
  }

  Result<std::size_t> write_some(std::string_view bytes) override {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::size_t{0};
    return Error{Errc::io, "write: " + go_text(errno)};
  }

  int native_handle() const override { return fd_; }

private:
  int fd_;
};

/// Connects `address` within `deadline`; the error is Go's text for the last step.
Result<std::unique_ptr<ByteStream>> connect_address(const sockaddr* address,
                                                    socklen_t size,
                                                    int family,
                                                    Deadline deadline) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error{Errc::io, "socket: " + go_text(errno)};
  auto stream = std::make_unique<PlainStream>(fd);
  if (::connect(fd, address, size) != 0) {
    if (errno != EINPROGRESS) return Error{Errc::unavailable, "connect: " + go_text(errno)};
    if (wait_for(fd, POLLOUT, deadline).has_error()) return Error{Errc::unavailable, "i/o timeout"};
    int failure = 0;
    socklen_t failure_size = sizeof failure;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &failure_size);
    if (failure != 0) return Error{Errc::unavailable, "connect: " + go_text(failure)};
  }
  if (family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return std::unique_ptr<ByteStream>{std::move(stream)};
}

Result<std::unique_ptr<ByteStream>> connect_unix(const std::string& path, Deadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{Errc::invalid_argument, "dial unix " + path + ": path too long"};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  auto stream = connect_address(reinterpret_cast<const sockaddr*>(&address), sizeof address,
                                AF_UNIX, deadline);
  if (!stream) return stream.error().within("dial unix " + path);
  return stream;
}

std::string numeric_address(const addrinfo& entry, const std::string& fallback) {
  char host[NI_MAXHOST];
  if (::getnameinfo(entry.ai_addr, entry.ai_addrlen, host, sizeof host, nullptr, 0, NI_NUMERICHOST)
      != 0)
    return fallback;
  return entry.ai_family == AF_INET6 ? '[' + std::string{host} + ']' : std::string{host};
}

std::string url_of(const Endpoint& endpoint) {
  if (endpoint.scheme == "unix") return "unix://" + endpoint.host;
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return endpoint.scheme + "://" + (is_v6 ? '[' + endpoint.host + ']' : endpoint.host) + ':'
         + endpoint.port;
}

/// TLS over a connected stream, which it owns.
class SecuredStream final : public ByteStream {
public:
  SecuredStream(std::unique_ptr<ByteStream> plain, TlsSession session)
      : plain_{std::move(plain)}, session_{std::move(session)} {}

  ~SecuredStream() override { session_.shut_down(); }

  Result<> shake_hands(Deadline deadline) {
    for (;;) {
      const auto step = session_.handshake();
      if (!step) return step.error();
      if (step->state == TlsSession::State::done) return {};
      if (step->state == TlsSession::State::closed) return Error{Errc::io, "EOF"};
      NOMAD_TRY(wait(step->state, deadline));
    }
  }

  Result<std::size_t> read(char* buffer, std::size_t size, Deadline deadline) override {
    for (;;) {
      const auto step = session_.read(buffer, size);
      if (!step) return step.error();
      if (step->state == TlsSession::State::done) return step->count;
      if (step->state == TlsSession::State::closed) return std::size_t{0};
      NOMAD_TRY(wait(step->state, deadline));
    }
  }

  Result<> write(std::string_view bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      const auto step = session_.write(bytes.data(), bytes.size());
      if (!step) return step.error();
      if (step->state == TlsSession::State::closed) return Error{Errc::io, "write: broken pipe"};
      if (step->state == TlsSession::State::done)
        bytes.remove_prefix(step->count);
      else
        NOMAD_TRY(wait(step->state, deadline));
    }
    return {};
  }

  Result<std::size_t> write_some(std::string_view bytes) override {
    const auto step = session_.write(bytes.data(), bytes.size());
    if (!step) return step.error();
    if (step->state == TlsSession::State::closed) return Error{Errc::io, "write: broken pipe"};
    return step->state == TlsSession::State::done ? step->count : std::size_t{0};
  }

  int native_handle() const override { return plain_->native_handle(); }

  bool has_buffered() const override { return session_.has_pending(); }

private:
  Result<> wait(TlsSession::State state, Deadline deadline) const {
    return wait_for(native_handle(), state == TlsSession::State::want_write ? POLLOUT : POLLIN,
                    deadline);
  }

  std::unique_ptr<ByteStream> plain_;
  TlsSession session_;
};

}  // namespace

Connector secure_connector(std::shared_ptr<const TlsContext> context, std::string server_name) {
  return [context = std::move(context), server_name = std::move(server_name)](
             const Endpoint& endpoint, Deadline deadline) -> Result<std::unique_ptr<ByteStream>> {
    auto plain = connect_plain(endpoint, deadline);
    if (!plain || endpoint.scheme != "https") return plain;
    const bool verifies = context->options().verify_outgoing;
    auto session = context->connect((*plain)->native_handle(), !server_name.empty() ? server_name
                                                               : verifies           ? endpoint.host
                                                                          : std::string{});
    if (!session) return session.error();
    auto secured = std::make_unique<SecuredStream>(std::move(*plain), std::move(*session));
    NOMAD_TRY(secured->shake_hands(deadline));
    return std::unique_ptr<ByteStream>{std::move(secured)};
  };
}

Result<std::unique_ptr<ByteStream>> connect_plain(const Endpoint& endpoint, Deadline deadline) {
  if (endpoint.scheme == "unix") return connect_unix(endpoint.host, deadline);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found);
  if (failure != 0)
    return Error{Errc::unavailable,
                 "dial tcp: lookup " + endpoint.host + ": "
                     + (failure == EAI_NONAME ? "no such host" : ::gai_strerror(failure))};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
  Error last{Errc::unavailable, "dial tcp: lookup " + endpoint.host + ": no such host"};
  for (const auto* entry = found; entry != nullptr; entry = entry->ai_next) {
    auto stream = connect_address(entry->ai_addr, entry->ai_addrlen, entry->ai_family, deadline);
    if (stream) return stream;
    last = stream.error().within("dial tcp " + numeric_address(*entry, endpoint.host) + ':'
                                 + endpoint.port);
  }
  return last;
}

Result<Endpoint> Endpoint::parse(std::string_view address) {
  const auto bad = [address](std::string_view why) {
    return Error{Errc::invalid_argument,
                 "invalid address \"" + std::string{address} + "\": " + std::string{why}};
  };
  Endpoint endpoint;
  const auto colon = address.find("://");
  if (colon == std::string_view::npos) return bad("expected http://, https:// or unix://");
  endpoint.scheme = address.substr(0, colon);
  auto rest = address.substr(colon + 3);
  if (endpoint.scheme == "unix") {
    if (rest.empty()) return bad("no path");
    endpoint.host = rest;
    return endpoint;
  }
  if (endpoint.scheme != "http" && endpoint.scheme != "https")
    return bad("expected http://, https:// or unix://");
  const auto slash = std::min(rest.find('/'), rest.size());
  endpoint.base_path = rest.substr(slash);
  while (endpoint.base_path.ends_with('/'))
    endpoint.base_path.pop_back();
  rest = rest.substr(0, slash);
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) rest.remove_prefix(at + 1);
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) return bad("missing ']'");
    endpoint.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const auto end = std::min(rest.rfind(':'), rest.size());
    endpoint.host = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  if (endpoint.host.empty()) return bad("no host");
  if (!rest.empty() && rest.front() != ':') return bad("unexpected text behind the host");
  endpoint.port = rest.empty() ? "" : rest.substr(1);
  if (endpoint.port.empty()) endpoint.port = endpoint.scheme == "https" ? "443" : "80";
  return endpoint;
}

std::string_view ClientResponse::header(std::string_view name) const {
  for (const auto& header : headers)
    if (same_header(header.name, name)) return header.value;
  return {};
}

namespace detail {

/// A connected peer and the answer that is being read from it.
class ClientConnection {
public:
  explicit ClientConnection(std::unique_ptr<ByteStream> stream) : stream_{std::move(stream)} {}

  Result<> send(std::string_view bytes, bool is_head, std::uint64_t body_bytes, Deadline deadline) {
    is_head_ = is_head;
    body_bytes_ = body_bytes;
    parser_ = std::make_unique<ResponseParser>(is_head, body_bytes);
    got_any_ = false;
    return stream_->write(bytes, deadline);
  }

  Result<> send_more(std::string_view bytes, Deadline deadline) {
    return stream_->write(bytes, deadline);
  }

  /// Reads once, if the answer isn't complete yet. Interim answers (100) are skipped.
  Result<> advance(Deadline deadline) {
    if (parser_->complete()) return {};
    if (leftover_.empty() || stalled_) {
      char buffer[16 * 1024];
      auto got = stream_->read(buffer, sizeof buffer, deadline);
      if (!got) return got.error();
      if (*got == 0) {
        closed_ = true;
        return parser_->feed_eof();
      }
      got_any_ = true;
      leftover_.append(buffer, *got);
    }
    auto used = parser_->feed(leftover_);
    if (!used) return used.error();
    stalled_ = *used == 0;
    leftover_.erase(0, *used);
    const bool is_interim
        = parser_->status() >= 100 && parser_->status() < 200 && parser_->status() != 101;
    if (parser_->complete() && is_interim) {
      parser_ = std::make_unique<ResponseParser>(is_head_, body_bytes_);
      stalled_ = false;
    }
    return {};
  }

  ResponseParser& parser() { return *parser_; }

  bool reusable() const {
    return !closed_ && parser_->complete() && parser_->keep_alive() && leftover_.empty();
  }

  bool got_any() const { return got_any_; }

  /// Whether the peer has closed (or said something unasked) since the last answer.
  bool was_closed() const {
    pollfd entry{stream_->native_handle(), POLLIN, 0};
    return ::poll(&entry, 1, 0) != 0;
  }

  int native_handle() const { return stream_->native_handle(); }

  /// The connection itself, and what was read of it beyond the answer.
  std::pair<std::unique_ptr<ByteStream>, std::string> release() {
    return {std::move(stream_), std::move(leftover_)};
  }

private:
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<ResponseParser> parser_;
  std::string leftover_;  ///< Read, but not understood yet.
  bool stalled_ = false;  ///< The parser needs more than `leftover_`.
  bool is_head_ = false;
  bool closed_ = false;
  bool got_any_ = false;
  std::uint64_t body_bytes_ = 0;
};

}  // namespace detail

ResponseStream::ResponseStream(std::unique_ptr<detail::ClientConnection> connection)
    : connection_{std::move(connection)} {}

ResponseStream::ResponseStream(ResponseStream&&) noexcept = default;
ResponseStream& ResponseStream::operator=(ResponseStream&&) noexcept = default;
ResponseStream::~ResponseStream() = default;

unsigned ResponseStream::status() const {
  return connection_->parser().status();
}

const Headers& ResponseStream::headers() const {
  return connection_->parser().headers();
}

Result<std::string> ResponseStream::read(std::chrono::milliseconds timeout) {
  const Deadline deadline = timeout.count() > 0 ? Deadline{Clock::now() + timeout} : std::nullopt;
  auto& parser = connection_->parser();
  while (parser.body().empty() && !parser.complete())
    NOMAD_TRY(connection_->advance(deadline));
  return std::exchange(parser.body(), {});
}

Result<std::string> ResponseStream::read_all() {
  std::string all;
  for (;;) {
    auto piece = read();
    if (!piece || piece->empty()) {
      if (!piece) return piece.error();
      return all;
    }
    all += *piece;
  }
}

int ResponseStream::native_handle() const {
  return connection_->native_handle();
}

HttpClient::HttpClient(HttpClientOptions options, Endpoint endpoint)
    : options_{std::move(options)}, endpoint_{std::move(endpoint)} {
  options_.address = url_of(endpoint_);
}

HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::make(HttpClientOptions options) {
  auto endpoint = Endpoint::parse(options.address);
  if (!endpoint) return endpoint.error();
  if (endpoint->scheme == "https" && !options.connector)
    return Error{Errc::invalid_argument,
                 "address \"" + options.address + "\": TLS is not supported by this client"};
  return HttpClient{std::move(options), std::move(*endpoint)};
}

const std::string& HttpClient::address() const {
  return options_.address;
}

Result<std::unique_ptr<detail::ClientConnection>> HttpClient::connect(Deadline deadline) {
  const auto limit = Clock::now() + options_.connect_timeout;
  const Deadline until = deadline ? std::min(*deadline, limit) : limit;
  auto stream
      = options_.connector ? options_.connector(endpoint_, until) : connect_plain(endpoint_, until);
  if (!stream) return stream.error();
  return std::make_unique<detail::ClientConnection>(std::move(*stream));
}

std::string HttpClient::render(const ClientRequest& request) const {
  std::string out = request.method + ' ' + endpoint_.base_path + request.target + " HTTP/1.1\r\n";
  if (endpoint_.scheme == "unix")
    out += "Host: localhost\r\n";
  else
    out += "Host: " + options_.address.substr(options_.address.find("://") + 3) + "\r\n";
  out += "User-Agent: nomadctl\r\n";
  for (const auto* list : {&options_.headers, &request.headers})
    for (const auto& header : *list)
      out += header.name + ": " + header.value + "\r\n";
  const auto size = request.next_piece ? request.pieces_size : request.body.size();
  if (size > 0 || request.method == "PUT" || request.method == "POST")
    out += "Content-Length: " + std::to_string(size) + "\r\n";
  out += "\r\n";
  return out += request.body;
}

Error HttpClient::explain(const ClientRequest& request, const Error& error) const {
  std::string verb = request.method;
  for (std::size_t i = 1; i < verb.size(); ++i)
    verb[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(verb[i])));
  return error.within(verb + " \"" + options_.address + endpoint_.base_path + request.target + '"');
}

Result<ClientResponse> HttpClient::exchange(const ClientRequest& request, bool& was_stale) {
  const Deadline deadline = options_.answer_timeout.count() > 0
                                ? Deadline{Clock::now() + options_.answer_timeout}
                                : std::nullopt;
  if (kept_ && kept_->was_closed()) kept_.reset();
  const bool was_kept = kept_ != nullptr;
  if (!was_kept) {
    auto connection = connect(deadline);
    if (!connection) return connection.error();
    kept_ = std::move(*connection);
  }
  auto connection = std::move(kept_);
  const auto fail = [&](const Error& error) {
    const bool is_read = request.method == "GET" || request.method == "HEAD";
    was_stale = was_kept && is_read && !connection->got_any() && error.code == Errc::io;
    return error;
  };
  if (auto sent
      = connection->send(render(request), request.method == "HEAD", options_.body_bytes, deadline);
      !sent)
    return fail(sent.error());
  const auto sent = send_pieces(request, *connection, deadline);
  if (!sent && sent.error().code == Errc::cancelled) return sent.error();
  // Who does not take all of a body may have said why.
  while (!connection->parser().complete())
    if (auto step = connection->advance(deadline); !step)
      return fail(sent ? step.error() : sent.error());
  auto& done = connection->parser();
  ClientResponse response{done.status(), std::move(done.headers()), std::move(done.body())};
  if (sent && connection->reusable()) kept_ = std::move(connection);
  return response;
}

Result<> HttpClient::send_pieces(const ClientRequest& request,
                                 detail::ClientConnection& connection,
                                 Deadline deadline) {
  if (!request.next_piece) return {};
  for (;;) {
    const auto piece = request.next_piece();
    if (!piece) return Error{Errc::cancelled, piece.error().what};
    if (piece->empty()) return {};
    NOMAD_TRY(connection.send_more(*piece, deadline));
  }
}

Result<ClientResponse> HttpClient::send(const ClientRequest& request) {
  bool was_stale = false;
  auto response = exchange(request, was_stale);
  if (!response && was_stale) response = exchange(request, was_stale);
  if (!response) return explain(request, response.error());
  return response;
}

Result<ResponseStream> HttpClient::open(const ClientRequest& request) {
  auto connection = connect(std::nullopt);
  if (!connection) return explain(request, connection.error());
  const Deadline deadline = options_.answer_timeout.count() > 0
                                ? Deadline{Clock::now() + options_.answer_timeout}
                                : std::nullopt;
  if (auto sent
      = (*connection)->send(render(request), request.method == "HEAD", ~std::uint64_t{0}, deadline);
      !sent)
    return explain(request, sent.error());
  while (!(*connection)->parser().header_done())
    if (auto step = (*connection)->advance(deadline); !step) return explain(request, step.error());
  return ResponseStream{std::move(*connection)};
}

Result<Upgraded> HttpClient::upgrade(const ClientRequest& request) {
  auto made = connect(std::nullopt);
  if (!made) return explain(request, made.error());
  auto& connection = **made;
  if (auto sent = connection.send(render(request), false, options_.body_bytes, {}); !sent)
    return explain(request, sent.error());
  while (!connection.parser().complete())
    if (auto step = connection.advance({}); !step) return explain(request, step.error());
  auto& done = connection.parser();
  Upgraded upgraded;
  upgraded.answer = {done.status(), std::move(done.headers()), std::move(done.body())};
  if (upgraded.answer.status == 101)
    std::tie(upgraded.stream, upgraded.early) = connection.release();
  return upgraded;
}

}  // namespace nomad::net
