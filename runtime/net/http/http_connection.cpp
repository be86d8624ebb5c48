// The receiving half of a connection: bytes to requests to handlers.
#include "runtime/net/http/http_connection.hpp"

#include <exception>
#include <utility>

#include "runtime/base/log.hpp"

namespace nomad::net {
namespace {

/// What is kept of a client that sends ahead of its answers.
constexpr std::size_t pending_limit = 64 * 1024;

/// Requests of a pipeline are worked off until this much waits to be sent.
constexpr std::size_t out_limit = 64 * 1024;

/// A body may take a second for each of these beyond the body timeout.
constexpr std::uint64_t slowest_body_per_second = 64 * 1024;

/// What a body that goes into a file must bring within each body timeout: a client that sends byte
/// by byte would hold its connection and the file for ever.
constexpr std::uint64_t least_progress = 16 * 1024;

/// In Go's words.
constexpr std::string_view plain_to_tls
    = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// How long the answer to a client that closed its sending side may take.
constexpr std::chrono::seconds half_closed_patience{5};

}  // namespace

Connection::Connection(Worker& worker, Accepted accepted)
    : StreamSocket{worker, std::move(accepted.socket)},
      worker_{worker},
      limits_{std::move(accepted.limits)},
      remote_{std::move(accepted.remote)},
      is_unix_{accepted.is_unix},
      slot_{std::move(accepted.slot)},
      parser_{worker.server->limits} {
  set_deadline(worker.server->options.header_timeout);
}

Connection::~Connection() = default;

std::shared_ptr<Connection> Connection::self() {
  return std::static_pointer_cast<Connection>(shared_from_this());
}

void Connection::start() {
  const auto& context = worker_.server->options.tls;
  if (context && !is_unix_)
    open(context->accept(native_handle()));
  else
    open();
}

void Connection::on_open() {
  read_on();
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();  // the loop may hold the last other reference
  const bool was_in_work
      = phase_ == Phase::waiting || phase_ == Phase::streaming || phase_ == Phase::tunneling;
  phase_ = Phase::closed;
  close_socket();
  drained_.clear();
  if (was_in_work) exchange_->abandon(false);
  slot_.leave();
}

void Connection::on_failure(const Error& why) {
  log::debug("http", "closing a connection", {{"peer", remote_}, {"error", why}});
  const bool is_plain = is_first_ && why.code == Errc::invalid_argument;  // of the handshake
  if (is_plain) turn_away(native_handle(), plain_to_tls);
  close();
}

void Connection::check(Clock::time_point now) {
  if (now < deadline_) return;
  if (phase_ == Phase::receiving || (phase_ == Phase::idle && is_first_))
    log::debug("http", "closing a connection: no complete request in time", {{"peer", remote_}});
  else if (phase_ != Phase::idle && phase_ != Phase::draining)
    log::debug("http", "closing a connection: it does not take its answer", {{"peer", remote_}});
  close();
}

void Connection::close_if_idle() {
  if (phase_ == Phase::tunneling) return close();  // it has no end of its own to wait for
  if ((phase_ == Phase::idle || phase_ == Phase::receiving) && output().empty())
    close();
  else
    keep_alive_ = false;
}

bool Connection::wants_input() const {
  if (phase_ == Phase::closed) return false;
  if (phase_ == Phase::receiving) return true;
  if (phase_ == Phase::tunneling
      && (tunnel_peer_ended_ || tunnel_waiting_ >= worker_.server->options.tunnel_window_bytes))
    return false;
  return pending_.size() < pending_limit;
}

void Connection::on_input(std::string_view bytes) {
  switch (phase_) {
    case Phase::idle:
    case Phase::receiving:
      if (pending_.empty()) {
        keep(consume(bytes));
        flush();
      } else {
        pending_.append(bytes);
        consume_pending();
      }
      break;
    case Phase::waiting:
    case Phase::streaming:
      pending_.append(bytes);
      break;
    case Phase::tunneling:
      tunnel_in(bytes);
      break;
    case Phase::draining:
    case Phase::closed:
      break;
  }
}

void Connection::keep(std::string_view bytes) {
  pending_.assign(bytes);
  if (pending_.empty() && pending_.capacity() > pending_limit) pending_.shrink_to_fit();
}

void Connection::consume_pending() {
  if (phase_ == Phase::closed) return;
  const auto bytes = std::exchange(pending_, {});
  keep(consume(bytes));
  flush();
  read_on();
}

void Connection::begin_request() {
  if (!exchange_ || exchange_.use_count() > 1 || !exchange_->stayed_on_thread())
    exchange_ = std::make_shared<detail::HttpExchange>();
  exchange_->gate = nullptr;
  parser_.begin(exchange_->request);
  slot_.hold(0, 0);  // what the last one held has gone
  exchange_->request.needs_token = worker_.server->options.needs_token;
  phase_ = Phase::receiving;
  in_body_ = false;
  if (!is_first_) set_deadline(worker_.server->options.header_timeout);
  is_first_ = false;
}

std::string_view Connection::consume(std::string_view bytes) {
  while (!bytes.empty() && !close_when_sent_ && output().size() < out_limit) {
    if (phase_ == Phase::idle) begin_request();
    if (phase_ != Phase::receiving) break;
    const auto step = parser_.feed(bytes);
    bytes.remove_prefix(step.consumed);
    switch (step.state) {
      case RequestParser::State::failed:
        refuse(parser_.failure_status(), parser_.failure());
        return {};
      case RequestParser::State::need_more:
        need_more(bytes.empty());
        return bytes;
      case RequestParser::State::complete:
        dispatch();
        break;
    }
  }
  return bytes;
}

void Connection::need_more(bool nothing_left) {
  if (!parser_.header_done()) return;
  const auto& file = exchange_->request.body_file;
  const auto most = worker_.server->options.held_bytes_per_address;
  if (most != 0 && !slot_.hold(file ? file->size() : exchange_->request.body.size(), most))
    return refuse(429, "requests of this client hold too many bytes; try again");
  const bool is_first = !std::exchange(in_body_, true);
  if (file && (is_first || file->size() >= renewed_at_ + least_progress)) {
    renewed_at_ = file->size();
    set_deadline(worker_.server->options.body_timeout);
  }
  if (!is_first) return;
  const auto extra = std::chrono::seconds{parser_.announced_body() / slowest_body_per_second};
  if (!file) set_deadline(worker_.server->options.body_timeout + extra);
  if (nothing_left && parser_.wants_continue()) output().text() += "HTTP/1.1 100 Continue\r\n\r\n";
}

void Connection::dispatch() {
  auto& request = exchange_->request;
  keep_alive_ = parser_.keep_alive() && !worker_.stopping;
  parser_.end();  // the request may wait for long
  request.remote.assign(remote_);
  request.limits.assign(limits_);
  request.received = Clock::now();
  if (!split_target(request)) {
    refuse(400, "malformed request target");
    return;
  }
  phase_ = Phase::waiting;
  no_deadline();
  exchange_->attach(self(), worker_.shared_from_this());
  in_dispatch_ = true;
  try {
    route();
  } catch (const std::exception& failure) {  // a bug; the Responder has answered 500
    log::error("http", "a request failed by an exception",
               {{"method", request.method}, {"path", request.path}, {"error", failure.what()}});
  }
  in_dispatch_ = false;
}

void Connection::route() {
  worker_.server->handler(Responder{exchange_});
}

void Connection::refuse(unsigned status, std::string_view text) {
  log::debug("http", "refused a request", {{"peer", remote_}, {"error", text}});
  const auto number = std::to_string(status);
  const auto reason = std::string{reason_phrase(status)};
  std::string body = number + ' ' + reason;
  if (status == 400 || status == 429 || status == 500) (body += ": ") += text;
  output().text()
      += "HTTP/1.1 " + number + ' ' + reason
         + "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: "
         + std::to_string(body.size()) + "\r\n\r\n" + body;
  phase_ = Phase::idle;
  close_when_sent_ = true;
  set_deadline(worker_.server->options.write_timeout);
  if (!exchange_ || exchange_.use_count() > 1) return;
  exchange_->request.body = {};  // others may have its share before the peer has read the answer
  exchange_->request.body_file.reset();
  slot_.hold(0, 0);
}

void Connection::on_input_end() {
  if (phase_ == Phase::tunneling) {
    tunnel_peer_ended_ = true;
    pump_tunnel();
    return;
  }
  if (phase_ != Phase::waiting) {
    close();
    return;
  }
  keep_alive_ = false;
  set_deadline(half_closed_patience);
  exchange_->abandon(true);
}

}  // namespace nomad::net
