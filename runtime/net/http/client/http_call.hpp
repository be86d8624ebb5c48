// HttpCall: one request of an AsyncHttpClient on its way, with its redirects; HttpClientSocket: a
// connection of such a client, which carries one request after the other. Internal to runtime/net;
// everything is on the client's thread.
//
//     looking_up --> connecting --> securing --> waiting ---> receiving --> over
//      (a name)      (address by    (TLS)         |  (a header)    ^
//         ^           address)                    |                |
//         |                                       '-> tunneling ---'
//         '--- a redirect; a kept connection that the peer had closed
//
// Invariants:
// (1) `ended` is called once, or never after `withdraw`.
// (2) A request is sent a second time only over a new connection, if it is repeatable and the kept
//     one gave no byte of an answer.
// (3) Every address is judged by the client's `allows` right before it is connected to.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/steady_timer.hpp>

#include "runtime/net/http/client/async_http_client.hpp"
#include "runtime/net/http/client/head_lines.hpp"
#include "runtime/net/http/client/http_request.hpp"
#include "runtime/net/http/client/name_lookup.hpp"
#include "runtime/net/http/http_parser.hpp"
#include "runtime/net/stream_socket.hpp"

namespace nomad::net {

class HttpCall;

class HttpClientSocket final : public StreamSocket {
public:
  using StreamSocket::await_connection;
  using StreamSocket::flush_soon;
  using StreamSocket::native_handle;
  using StreamSocket::open;
  using StreamSocket::read_on;
  using StreamSocket::replace;

  HttpClientSocket(SocketLoop& loop, Descriptor socket) : StreamSocket{loop, std::move(socket)} {}

  /// Whose it is from now on; nobody's: what comes is not wanted, and ends it.
  void belong_to(std::shared_ptr<HttpCall> call) { call_ = std::move(call); }

  void send(std::string_view bytes);
  void send_soon(std::string_view bytes);
  void end_output();

  std::size_t queued() const { return output().size(); }

  /// Closes it; nobody is told any more.
  void abandon();

private:
  void check(Clock::time_point) override {}

  void on_connected(int error_number) override;
  void on_open() override;
  bool wants_input() const override;
  void on_input(std::string_view bytes) override;
  void on_input_end() override;
  void on_failure(const Error& why) override;
  void on_sent() override;

  std::shared_ptr<HttpCall> call_;
  bool ends_output_ = false;  ///< Once all is sent.
};

/// What a request needs of its client.
class HttpCallOwner {
public:
  virtual const AsyncHttpClientOptions& options() const = 0;
  virtual SocketLoop& loop() = 0;

  /// `HttpCall::found` of that call, if it is still there.
  virtual void look_up(AsyncHttpClient::CallId call, const Endpoint& whom) = 0;

  /// A connection that an earlier request has left; null: there is none.
  virtual std::shared_ptr<HttpClientSocket> take_kept(const HttpRequest& request) = 0;
  virtual void keep(const HttpRequest& request, std::shared_ptr<HttpClientSocket> socket) = 0;

  virtual void forget(AsyncHttpClient::CallId call) = 0;

protected:
  ~HttpCallOwner() = default;
};

class HttpCall final : public HttpTunnel, public std::enable_shared_from_this<HttpCall> {
public:
  using Clock = std::chrono::steady_clock;
  using Kind = HttpClientError::Kind;

  HttpCall(HttpCallOwner& owner,
           AsyncHttpClient::CallId id,
           HttpRequest request,
           const HttpLimits& limits,
           HttpHandlers handlers,
           bool is_raw);

  void begin();

  /// It ends; nobody is told any more.
  void withdraw();

  void found(Result<SocketAddresses> addresses);

  // -- told by its socket

  void connected(int error_number);
  void opened();

  bool wants_input() const { return phase_ != Phase::over && !is_paused_; }

  void input(std::string_view bytes);
  void input_ended();
  void failed(const Error& why);
  void sent();

  // -- HttpTunnel

  void write(std::string_view bytes) override;
  std::size_t queued() const override;
  void end_output() override;
  void pause(bool is_paused) override;

  void close() override { withdraw(); }

private:
  enum class Phase : std::uint8_t {
    looking_up,
    connecting,
    securing,
    waiting,
    receiving,
    tunneling,
    over
  };

  using Moment = std::optional<Clock::time_point>;

  void begin_hop();
  void dial();
  void dial_next();
  void ask();
  bool asks_anew();
  Result<> parse(std::string_view bytes);
  void input_malformed(const Error& why);
  void take_header();
  bool goes_elsewhere();
  void take_body();
  bool hand_on(std::string_view piece);
  void complete();
  void become_tunnel();
  bool may_be_kept() const;
  Moment deadline() const;
  void arm();
  void time_over();
  std::optional<HttpClientError> failure(Kind kind, Errc code, std::string what) const;
  void fail(Kind kind, Errc code, std::string what);
  void end(std::optional<HttpClientError> failure);
  void let_go(bool keeps_socket);

  HttpCallOwner& owner_;
  const AsyncHttpClient::CallId id_;
  HttpRequest request_;
  const HttpLimits limits_;
  HttpHandlers handlers_;
  const bool is_raw_;  ///< No HTTP: a tunnel from the beginning.
  boost::asio::steady_timer timer_;
  Phase phase_ = Phase::looking_up;
  const Clock::time_point begun_;
  Clock::time_point hop_begun_;  ///< Of the request that a redirect may have led to.
  Clock::time_point heard_;
  Clock::time_point ticked_;
  int redirects_ = 0;

  std::deque<SocketAddress> addresses_;        ///< That were not tried yet.
  Moment attempt_ends_;                        ///< Then comes the next one.
  std::string dialed_;                         ///< "dial tcp 10.0.0.1:80", the present one.
  std::optional<HttpClientError> not_dialed_;  ///< Why the last one is none.

  std::shared_ptr<HttpClientSocket> socket_;
  bool was_kept_ = false;  ///< The socket has served another request before.
  bool got_any_ = false;   ///< Something has come for this one.
  bool hung_up_ = false;
  bool is_paused_ = false;
  HeadLines head_;
  std::unique_ptr<ResponseParser> parser_;
  std::string rest_;  ///< What the parser has not taken yet.
  ClientResponse answer_;
};

}  // namespace nomad::net
