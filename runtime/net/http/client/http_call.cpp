#include "runtime/net/http/client/http_call.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <string.h>

#include "runtime/base/guard.hpp"
#include "runtime/net/http/client/request_text.hpp"

namespace nomad::net {
namespace {

constexpr auto tick_of_calls = std::chrono::milliseconds{500};
constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

std::unique_ptr<ResponseParser> make_parser(const HttpRequest& request) {
  return std::make_unique<ResponseParser>(request.method == "HEAD", unbounded);
}

/// What is said before the answer: "100 Continue".
bool is_interim(const ResponseParser& parser) {
  return parser.status() >= 100 && parser.status() < 200 && parser.status() != 101;
}

}  // namespace

// -- HttpClientSocket -----------------------------------------------------------------------------

void HttpClientSocket::send(std::string_view bytes) {
  output().text() += bytes;
  flush();
  read_on();
}

void HttpClientSocket::send_soon(std::string_view bytes) {
  output().text() += bytes;
  flush_soon();
}

void HttpClientSocket::end_output() {
  ends_output_ = true;
  flush_soon();
}

void HttpClientSocket::abandon() {
  call_.reset();
  if (is_closed()) return;
  channel().say_goodbye();
  close_socket();
}

void HttpClientSocket::on_connected(int error_number) {
  if (const auto call = call_) call->connected(error_number);
}

void HttpClientSocket::on_open() {
  if (const auto call = call_) call->opened();
}

bool HttpClientSocket::wants_input() const {
  return !is_closed() && (!call_ || call_->wants_input());
}

void HttpClientSocket::on_input(std::string_view bytes) {
  if (const auto call = call_)
    call->input(bytes);
  else
    abandon();  // nobody asked
}

void HttpClientSocket::on_input_end() {
  if (const auto call = call_)
    call->input_ended();
  else
    abandon();
}

void HttpClientSocket::on_failure(const Error& why) {
  if (const auto call = call_)
    call->failed(why);
  else
    abandon();
}

void HttpClientSocket::on_sent() {
  if (!output().empty()) return;
  if (std::exchange(ends_output_, false)) channel().end_output();
  if (const auto call = call_) call->sent();
}

// -- the way to a connection ----------------------------------------------------------------------

HttpCall::HttpCall(HttpCallOwner& owner,
                   AsyncHttpClient::CallId id,
                   HttpRequest request,
                   const HttpLimits& limits,
                   HttpHandlers handlers,
                   bool is_raw)
    : owner_{owner},
      id_{id},
      request_{std::move(request)},
      limits_{limits},
      handlers_{std::move(handlers)},
      is_raw_{is_raw},
      timer_{owner.loop().io()},
      begun_{Clock::now()},
      hop_begun_{begun_},
      heard_{begun_},
      ticked_{begun_} {}

void HttpCall::begin() {
  if (is_raw_) return dial();
  if (auto flaw = flaw_of(request_); !flaw.empty())
    return fail(Kind::invalid, Errc::invalid_argument, std::move(flaw));
  begin_hop();
}

void HttpCall::begin_hop() {
  hop_begun_ = Clock::now();
  answer_ = {};
  const bool may_share = request_.keeps_connection && !request_.upgrades && is_repeatable(request_);
  if (may_share) socket_ = owner_.take_kept(request_);
  was_kept_ = socket_ != nullptr;
  if (!was_kept_) return dial();
  socket_->belong_to(shared_from_this());
  ask();
}

void HttpCall::dial() {
  phase_ = Phase::looking_up;
  arm();
  const auto& to = request_.to;
  const bool is_path = to.scheme == "unix";
  auto known = is_path ? unix_addresses(to.host) : numeric_addresses(to.host, to.port);
  if (!known.empty()) return found(std::move(known));
  if (is_path)
    return fail(Kind::invalid, Errc::invalid_argument, "dial unix " + to.host + ": path too long");
  owner_.look_up(id_, to);
}

void HttpCall::found(Result<SocketAddresses> addresses) {
  if (phase_ != Phase::looking_up) return;
  if (!addresses) return fail(Kind::resolve, Errc::unavailable, addresses.error().what);
  addresses_.assign(addresses->begin(), addresses->end());
  dial_next();
}

void HttpCall::dial_next() {
  while (!addresses_.empty()) {
    const auto address = addresses_.front();
    addresses_.pop_front();
    const bool is_path = address.storage.ss_family == AF_UNIX;
    const auto [host, port] = is_path ? std::pair{request_.to.host, std::string{}}
                                      : numeric(address.storage, address.size);
    dialed_ = is_path ? "dial unix " + host : "dial tcp " + join_host_port(host, port);
    if (const auto& allows = owner_.options().allows; allows && !allows(*address.get())) {
      not_dialed_ = failure(Kind::forbidden, Errc::permission_denied,
                            dialed_ + ": this address must not be connected to");
      continue;
    }
    auto socket = begin_connect(address.get(), address.size);
    if (!socket) {
      not_dialed_ = failure(Kind::connect, Errc::unavailable, dialed_ + ": " + socket.error().what);
      continue;
    }
    if (!is_path) set_tcp_options(socket->fd);
    phase_ = Phase::connecting;
    const auto until = deadline();
    const auto now = Clock::now();
    const auto shares = static_cast<Clock::rep>(1 + addresses_.size());
    attempt_ends_ = until ? Moment{now + (*until - now) / shares} : std::nullopt;
    arm();
    if (socket_) {
      socket_->replace(std::move(*socket));
    } else {
      socket_ = std::make_shared<HttpClientSocket>(owner_.loop(), std::move(*socket));
      socket_->belong_to(shared_from_this());
      if (!owner_.loop().add(socket_)) return withdraw();
    }
    return socket_->await_connection();
  }
  end(std::exchange(not_dialed_, {}));
}

void HttpCall::connected(int error_number) {
  if (error_number != 0) {
    not_dialed_ = failure(Kind::connect, Errc::unavailable,
                          dialed_ + ": connect: " + go_text(error_number));
    return dial_next();
  }
  addresses_.clear();
  phase_ = Phase::securing;
  arm();
  const auto socket = socket_;
  if (request_.to.scheme != "https") return socket->open();
  if (!request_.tls && request_.trust) {
    auto trusted = request_.trust();
    if (!trusted) return fail(Kind::tls, trusted.error().code, trusted.error().what);
    request_.tls = std::move(*trusted);
  }
  if (!request_.tls)
    return fail(Kind::tls, Errc::invalid_argument, "there is nobody whose certificates to trust");
  const auto& name = request_.tls_name.empty() ? request_.to.host : request_.tls_name;
  socket->open(request_.tls->connect(socket->native_handle(), name, request_.tls_protocol));
}

void HttpCall::opened() {
  if (is_raw_) return become_tunnel();
  ask();
}

// -- question and answer --------------------------------------------------------------------------

void HttpCall::ask() {
  phase_ = Phase::waiting;
  parser_ = make_parser(request_);
  head_ = {};
  rest_.clear();
  got_any_ = hung_up_ = false;
  arm();
  const auto socket = socket_;  // it may fail meanwhile, and another be dialed
  socket->send(render(request_));
}

/// The peer has closed a kept connection while the request was on its way to it.
bool HttpCall::asks_anew() {
  if (phase_ != Phase::waiting || !was_kept_ || got_any_) return false;
  std::exchange(socket_, nullptr)->abandon();
  was_kept_ = false;
  dial();
  return true;
}

void HttpCall::input(std::string_view bytes) {
  const auto self = shared_from_this();
  heard_ = Clock::now();
  got_any_ = true;
  if (phase_ == Phase::tunneling) {
    hand_on(bytes);
    return;
  }
  if (const auto parsed = parse(bytes); !parsed) return input_malformed(parsed.error());
  take_header();
}

Result<> HttpCall::parse(std::string_view bytes) {
  while (!head_.is_whole() && !bytes.empty()) {
    rest_ += head_.take(bytes);
    const auto used = NOMAD_TRY(parser_->feed(rest_));
    rest_.erase(0, used);
    if (!parser_->complete() || !is_interim(*parser_)) continue;
    parser_ = make_parser(request_);
    head_ = {};
  }
  if (bytes.empty()) return {};
  if (rest_.empty()) {
    const auto used = NOMAD_TRY(parser_->feed(bytes));
    rest_ = bytes.substr(used);
    return {};
  }
  rest_ += bytes;  // half of a chunk's head was not taken
  const auto used = NOMAD_TRY(parser_->feed(rest_));
  rest_.erase(0, used);
  return {};
}

/// A header that came before it counts.
void HttpCall::input_malformed(const Error& why) {
  if (parser_->header_done()) {
    take_header();
    if (phase_ != Phase::receiving) return;  // it is over, or asks elsewhere
  }
  fail(Kind::malformed, Errc::corrupt, why.what);
}

void HttpCall::input_ended() {
  const auto self = shared_from_this();
  if (phase_ == Phase::tunneling) return end({});
  if (asks_anew()) return;
  hung_up_ = true;
  if (const auto whole = parser_->feed_eof(); !whole)
    return fail(Kind::closed, Errc::unavailable, whole.error().what);
  take_header();
}

void HttpCall::failed(const Error& why) {
  const auto self = shared_from_this();
  if (asks_anew()) return;
  const auto code = why.code == Errc::internal ? Errc::internal : Errc::unavailable;
  fail(phase_ == Phase::securing ? Kind::tls : Kind::closed, code, why.what);
}

/// What has come of the answer: its header, the first time, then its body.
void HttpCall::take_header() {
  if (phase_ == Phase::waiting && parser_->header_done()) {
    answer_.status = parser_->status();
    answer_.headers = std::move(parser_->headers());
    if (goes_elsewhere()) return;
    phase_ = Phase::receiving;
    arm();
    const bool is_enough = handlers_.head && !handlers_.head(answer_);
    if (phase_ == Phase::over) return;  // withdrawn
    if (is_enough) {
      hung_up_ = true;  // the rest of the answer is on its way
      take_body();
      return end({});
    }
  }
  if (phase_ != Phase::receiving) return;
  take_body();
  if (phase_ == Phase::receiving && parser_->complete()) complete();
}

bool HttpCall::goes_elsewhere() {
  if (request_.most_redirects == 0) return false;
  auto next = redirected(request_, answer_);
  if (!next) {
    fail(Kind::redirects, next.error().code, next.error().what);
    return true;
  }
  if (!*next) return false;
  if (++redirects_ == request_.most_redirects) {
    fail(Kind::redirects, Errc::rejected,
         fmt::format("stopped after {} redirects", request_.most_redirects));
    return true;
  }
  request_ = std::move(**next);
  std::exchange(socket_, nullptr)->abandon();
  begin_hop();
  return true;
}

void HttpCall::take_body() {
  auto& body = parser_->body();
  if (body.empty()) return;
  const bool is_success = answer_.status >= 200 && answer_.status < 300;
  if (handlers_.piece && is_success && !request_.upgrades) {
    hand_on(std::exchange(body, {}));
    return;
  }
  const auto room = limits_.body_bytes - answer_.body.size();
  const bool is_too_much = body.size() > room;
  if (is_too_much) body.resize(room);
  if (answer_.body.empty())
    answer_.body = std::exchange(body, {});
  else
    answer_.body += std::exchange(body, {});
  if (is_too_much) fail(Kind::too_large, Errc::too_large, "the answer is too long");
}

/// False: its taker does not want it, or has ended the request.
bool HttpCall::hand_on(std::string_view piece) {
  if (!handlers_.piece) return true;
  const auto taken = handlers_.piece(piece);
  if (!taken) fail(Kind::refused, taken.error().code, taken.error().what);
  return phase_ != Phase::over;
}

void HttpCall::complete() {
  if (answer_.status == 101 && request_.upgrades) return become_tunnel();
  end({});
}

// -- the tunnel -----------------------------------------------------------------------------------

void HttpCall::become_tunnel() {
  const auto self = shared_from_this();
  phase_ = Phase::tunneling;
  arm();
  if (handlers_.opened) handlers_.opened(*this);
  if (phase_ == Phase::over) return;
  if (!rest_.empty() && !hand_on(std::exchange(rest_, {}))) return;
  if (hung_up_) return end({});
  socket_->read_on();
}

void HttpCall::sent() {
  if (phase_ == Phase::tunneling && handlers_.drained) handlers_.drained();
}

void HttpCall::write(std::string_view bytes) {
  if (phase_ == Phase::over) return;
  socket_->send_soon(bytes);
}

std::size_t HttpCall::queued() const {
  return socket_ ? socket_->queued() : 0;
}

void HttpCall::end_output() {
  if (phase_ != Phase::over) socket_->end_output();
}

void HttpCall::pause(bool is_paused) {
  is_paused_ = is_paused;
  if (phase_ != Phase::over && !is_paused) socket_->read_on();
}

// -- time -----------------------------------------------------------------------------------------

/// When the request has failed if nothing changes.
HttpCall::Moment HttpCall::deadline() const {
  Moment first;
  const auto bound = [&first](Clock::time_point from, std::chrono::milliseconds time) {
    if (time.count() > 0 && (!first || from + time < *first)) first = from + time;
  };
  bound(begun_, limits_.whole);
  if (phase_ < Phase::waiting) bound(hop_begun_, limits_.connect);
  // Where a tunnel is wanted there is none before the answer is whole.
  const bool is_refusal = phase_ == Phase::receiving && request_.upgrades;
  if (phase_ <= Phase::waiting || is_refusal) bound(hop_begun_, limits_.header);
  if (phase_ > Phase::waiting) bound(heard_, limits_.silence);
  return first;
}

void HttpCall::arm() {
  auto next = deadline();
  const auto sooner = [&next](const Moment& other) {
    if (other && (!next || *other < *next)) next = other;
  };
  if (phase_ == Phase::connecting) sooner(attempt_ends_);
  if (handlers_.tick) sooner(ticked_ + tick_of_calls);
  if (!next) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(*next);
  timer_.async_wait([self = weak_from_this()](const boost::system::error_code& failure) {
    if (failure) return;
    if (const auto call = self.lock()) guarded("net", [&] { call->time_over(); });
  });
}

void HttpCall::time_over() {
  if (phase_ == Phase::over) return;
  const auto now = Clock::now();
  const auto until = deadline();
  if (until && now >= *until)
    return fail(
        Kind::timeout, Errc::timeout,
        phase_ == Phase::connecting ? dialed_ + ": i/o timeout" : "context deadline exceeded");
  if (phase_ == Phase::connecting && attempt_ends_ && now >= *attempt_ends_) {
    not_dialed_ = failure(Kind::connect, Errc::unavailable, dialed_ + ": i/o timeout");
    return dial_next();
  }
  if (handlers_.tick && now >= ticked_ + tick_of_calls) {
    ticked_ = now;
    handlers_.tick();
  }
  if (phase_ != Phase::over) arm();
}

// -- the end --------------------------------------------------------------------------------------

std::optional<HttpClientError> HttpCall::failure(Kind kind, Errc code, std::string what) const {
  return HttpClientError{
      .kind = kind,
      .code = code,
      .what = std::move(what),
      .asked = is_raw_ || kind == Kind::invalid ? std::string{} : asked_text(request_)};
}

void HttpCall::fail(Kind kind, Errc code, std::string what) {
  if (phase_ != Phase::over) end(failure(kind, code, std::move(what)));
}

bool HttpCall::may_be_kept() const {
  return phase_ == Phase::receiving && request_.keeps_connection && !hung_up_ && parser_->complete()
         && parser_->keep_alive() && rest_.empty() && socket_->queued() == 0;
}

void HttpCall::end(std::optional<HttpClientError> failure) {
  if (phase_ == Phase::over) return;
  const auto self = shared_from_this();
  let_go(!failure && may_be_kept());
  if (handlers_.ended) handlers_.ended({std::move(answer_), std::move(failure)});
}

void HttpCall::withdraw() {
  if (phase_ != Phase::over) let_go(false);
}

/// The handlers go with the call itself: one of them may be running.
void HttpCall::let_go(bool keeps_socket) {
  const auto self = shared_from_this();
  phase_ = Phase::over;
  timer_.cancel();
  ::explicit_bzero(request_.body.data(), request_.body.size());  // it may hold secrets
  if (auto socket = std::exchange(socket_, nullptr)) {
    if (keeps_socket)
      owner_.keep(request_, std::move(socket));
    else
      socket->abandon();
  }
  owner_.forget(id_);
}

}  // namespace nomad::net
