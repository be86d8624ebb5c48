#include "runtime/net/http/http_client.hpp"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include <poll.h>

#include "runtime/base/text.hpp"
#include "runtime/net/http/client/request_text.hpp"
#include "runtime/net/http/http_parser.hpp"

namespace nomad::net {
namespace {

using Clock = std::chrono::steady_clock;

/// One that is silent must not keep the others waiting.
constexpr std::chrono::milliseconds limit_among_several{3'000};

std::string url_of(const Endpoint& endpoint) {
  if (endpoint.scheme == "unix") return "unix://" + endpoint.host;
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return endpoint.scheme + "://" + (is_v6 ? '[' + endpoint.host + ']' : endpoint.host) + ':'
         + endpoint.port;
}

/// A line break in a token, say, would end its header and begin another.
Result<> check_words(const Headers& of_all, const ClientRequest& request) {
  HttpRequest words;
  words.method = request.method;
  words.target = request.target;
  words.headers = request.headers;
  words.headers.insert(words.headers.end(), of_all.begin(), of_all.end());
  if (auto flaw = flaw_of(words); !flaw.empty())
    return Error{Errc::invalid_argument, std::move(flaw)};
  return {};
}

}  // namespace

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
      auto got = NOMAD_TRY(stream_->read(buffer, sizeof buffer, deadline));
      if (got == 0) {
        closed_ = true;
        return parser_->feed_eof();
      }
      got_any_ = true;
      leftover_.append(buffer, got);
    }
    auto used = NOMAD_TRY(parser_->feed(leftover_));
    stalled_ = used == 0;
    leftover_.erase(0, used);
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

HttpClient::HttpClient(HttpClientOptions options, std::vector<Endpoint> endpoints)
    : options_{std::move(options)}, endpoints_{std::move(endpoints)} {
  turn_to(0);
}

HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

std::vector<std::string> split_addresses(std::string_view list) {
  std::vector<std::string> all;
  for (const auto one : split(list, ',')) {
    const auto address = trim(one);
    const bool is_of_path = !all.empty() && all.back().starts_with("unix://")
                            && address.find("://") == std::string_view::npos;
    if (is_of_path)
      all.back().append(",").append(one);
    else if (!address.empty())
      all.emplace_back(address);
  }
  if (all.empty()) all.emplace_back(list);
  return all;
}

Result<HttpClient> HttpClient::make(HttpClientOptions options) {
  std::vector<Endpoint> endpoints;
  for (const auto& address : split_addresses(options.address)) {
    endpoints.push_back(NOMAD_TRY(Endpoint::parse(address)));
    if (endpoints.back().scheme == "https" && !options.connector)
      return Error{Errc::invalid_argument,
                   "address \"" + address + "\": TLS is not supported by this client"};
  }
  return HttpClient{std::move(options), std::move(endpoints)};
}

const std::string& HttpClient::address() const {
  return options_.address;
}

void HttpClient::turn_to(std::size_t position) {
  current_ = position;
  options_.address = url_of(endpoint());
}

Result<std::unique_ptr<detail::ClientConnection>> HttpClient::connect_to_current(
    Deadline deadline) {
  auto limit = options_.connect_timeout;
  if (endpoints_.size() > 1) limit = std::min(limit, limit_among_several);
  const auto latest = Clock::now() + limit;
  const Deadline until = deadline ? std::min(*deadline, latest) : latest;
  auto stream = NOMAD_TRY(options_.connector ? options_.connector(endpoint(), until)
                                             : connect_plain(endpoint(), until));
  return std::make_unique<detail::ClientConnection>(std::move(stream));
}

Result<std::unique_ptr<detail::ClientConnection>> HttpClient::connect(Deadline deadline) {
  if (endpoints_.size() == 1) return connect_to_current(deadline);
  Error failure{Errc::unavailable, "none of the addresses can be reached"};
  for (std::size_t tried = 0; tried < endpoints_.size(); ++tried) {
    auto connection = connect_to_current(deadline);
    if (connection) return connection;
    failure.code = connection.error().code;
    failure.what += (tried == 0 ? ": " : "; ") + connection.error().within(address()).what;
    turn_to((current_ + 1) % endpoints_.size());
  }
  return failure;
}

std::string HttpClient::render(const ClientRequest& request) const {
  std::string out = request.method + ' ' + endpoint().base_path + request.target + " HTTP/1.1\r\n";
  if (endpoint().scheme == "unix")
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
  return error.within(verb + " \"" + options_.address + endpoint().base_path + request.target
                      + '"');
}

Result<ClientResponse> HttpClient::exchange(const ClientRequest& request, bool& was_stale) {
  const Deadline deadline = options_.answer_timeout.count() > 0
                                ? Deadline{Clock::now() + options_.answer_timeout}
                                : std::nullopt;
  if (kept_ && kept_->was_closed()) kept_.reset();
  const bool was_kept = kept_ != nullptr;
  if (!was_kept) {
    kept_ = NOMAD_TRY(connect(deadline));
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
  if (const auto fit = check_words(options_.headers, request); !fit)
    return explain(request, fit.error());
  bool was_stale = false;
  auto response = exchange(request, was_stale);
  if (!response && was_stale) response = exchange(request, was_stale);
  if (!response) return explain(request, response.error());
  return response;
}

Result<ResponseStream> HttpClient::open(const ClientRequest& request) {
  if (const auto fit = check_words(options_.headers, request); !fit)
    return explain(request, fit.error());
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
  if (const auto fit = check_words(options_.headers, request); !fit)
    return explain(request, fit.error());
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
