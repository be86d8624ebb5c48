// The exchange between a connection and a handler, and the Responder and BodyStream that
// handlers see of it. Tunnels: http_tunnel.cpp.
#include <utility>

#include "runtime/net/http/http_connection.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::net {
namespace detail {

void HttpExchange::note_thread() {
  crossed_ = crossed_ || !worker_->is_current();
}

bool HttpExchange::may_act_here() const {
  return !is_posted_ && worker_->is_current();
}

void HttpExchange::act_later(std::function<void(Connection&)> action) {
  actions_.push_back(std::move(action));
  if (std::exchange(is_posted_, true)) return;
  worker_->post([self = shared_from_this(), connection = connection_] { self->act(*connection); });
}

void HttpExchange::act(Connection& connection) {
  for (;;) {
    std::function<void(Connection&)> next;
    {
      const std::lock_guard lock{guard_};
      if (actions_.empty()) {
        is_posted_ = false;
        return;
      }
      next = std::move(actions_.front());
      actions_.pop_front();
    }
    act_on(connection, next);
  }
}

bool HttpExchange::stayed_on_thread() const {
  const std::lock_guard lock{guard_};
  return !crossed_;
}

void HttpExchange::attach(std::shared_ptr<Connection> connection, std::shared_ptr<Worker> worker) {
  const std::lock_guard lock{guard_};
  connection_ = std::move(connection);
  worker_ = std::move(worker);
  abandoned_ = nullptr;
  is_abandoned_ = false;
  is_answered_ = false;
  output_ended_ = false;
  queued_ = 0;
}

void HttpExchange::detach() {
  std::function<void()> dropped;
  std::shared_ptr<Connection> connection;
  decltype(on_data_) listener;
  decltype(actions_) void_now;
  const std::lock_guard lock{guard_};
  listener.swap(on_data_);
  void_now.swap(actions_);
  connection.swap(connection_);
  dropped.swap(abandoned_);
  request.body_file.reset();  // or it would last until the connection's next request
}

void HttpExchange::abandon(bool may_answer) {
  std::function<void()> callback;
  std::shared_ptr<Connection> connection;
  decltype(on_data_) listener;
  decltype(actions_) void_now;
  {
    const std::lock_guard lock{guard_};
    is_abandoned_ = true;
    if (!may_answer) void_now.swap(actions_);
    listener.swap(on_data_);
    callback.swap(abandoned_);
    if (!may_answer) connection.swap(connection_);
  }
  if (callback) callback();
}

bool HttpExchange::abandoned() const {
  const std::lock_guard lock{guard_};
  return is_abandoned_ || !connection_;
}

void HttpExchange::on_abandoned(std::function<void()> callback) {
  {
    const std::lock_guard lock{guard_};
    if (!is_abandoned_) {
      if (connection_) abandoned_.swap(callback);
      return;  // a replaced callback dies outside the lock
    }
  }
  callback();
}

bool HttpExchange::take(Turns::Action& action) {
  on_connection([action = std::move(action)](Connection&) { guarded("http", action); });
  return true;
}

/// Nothing is left to do of what is compressed already.
void HttpExchange::compress(Response& response) const {
  const std::string_view body = response.shared_body ? *response.shared_body : response.body;
  if (!request.accepts_gzip())
    response.shared_gzip.reset();
  else if (!response.shared_gzip && !body.empty())
    response.shared_gzip = std::make_shared<const std::string>(gzip(body));
}

void HttpExchange::prepare(Response& response) {
  let_go();
  compress(response);
}

void HttpExchange::let_go() {
  const std::lock_guard lock{guard_};
  note_thread();
}

void HttpExchange::send(Response response) {
  {
    const std::lock_guard lock{guard_};
    note_thread();
    if (is_answered_ || !connection_) return;
    is_answered_ = true;
  }
  compress(response);
  on_connection(
      [self = shared_from_this(), response = std::move(response)](Connection& connection) mutable {
        connection.answer(self, std::move(response));
      });
}

void HttpExchange::start_stream(Response head) {
  {
    const std::lock_guard lock{guard_};
    note_thread();
    if (is_answered_ || !connection_) return;
    is_answered_ = true;
  }
  on_connection(
      [self = shared_from_this(), head = std::move(head)](Connection& connection) mutable {
        connection.start_stream(self, std::move(head));
      });
}

bool HttpExchange::write(std::string_view chunk, std::function<void()> drained) {
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock{guard_};
    note_thread();
    if (is_abandoned_ || !connection_ || output_ended_) return false;
    const auto waiting = queued_.load(std::memory_order_relaxed);
    if (waiting != 0 && waiting + chunk.size() > worker_->server->options.stream_queue_bytes)
      return false;
    queued_.fetch_add(chunk.size(), std::memory_order_relaxed);
    if (!may_act_here()) {
      act_later([self = shared_from_this(), bytes = std::string{chunk},
                 drained = std::move(drained)](Connection& there) mutable {
        there.write_chunk(self, bytes, std::move(drained));
      });
      return true;
    }
    connection = connection_;
  }
  act_on(*connection, [&](Connection& here) {
    here.write_chunk(shared_from_this(), chunk, std::move(drained));
  });
  return true;
}

bool HttpExchange::takes_pieces() const {
  return request.is_http11 && request.method != "HEAD" && !request.accepts_gzip();
}

bool HttpExchange::give(std::shared_ptr<const std::string> piece) {
  {
    const std::lock_guard lock{guard_};
    if (is_abandoned_ || !connection_) return false;
  }
  on_connection(
      [self = shared_from_this(), piece = std::move(piece)](Connection& connection) mutable {
        connection.give_piece(self, std::move(piece));
      });
  return true;
}

void HttpExchange::end(bool properly) {
  on_connection([self = shared_from_this(), properly](Connection& connection) {
    connection.end_stream(self, properly);
  });
}

void HttpExchange::drop() {
  {
    const std::lock_guard lock{guard_};
    note_thread();
    if (is_answered_ || !connection_) return;
  }
  send(unanswered());
}

Response unanswered() {
  return {.status = status::internal_error,
          .content_type = "text/plain; charset=utf-8",
          .body = "the request was not answered"};
}

void finish(Exchange& exchange, bool properly) {
  exchange.end(properly);
  if (const auto gate = exchange.gate) gate->ended();
}

}  // namespace detail

BodyStream::BodyStream(std::shared_ptr<detail::Exchange> exchange)
    : exchange_{std::move(exchange)} {}

BodyStream& BodyStream::operator=(BodyStream&& other) noexcept {
  if (this != &other) {
    close();
    exchange_ = std::move(other.exchange_);
  }
  return *this;
}

BodyStream::~BodyStream() {
  close();
}

bool BodyStream::write(std::string_view chunk, std::function<void()> drained) {
  return exchange_ && exchange_->write(chunk, std::move(drained));
}

bool BodyStream::give(std::string piece) {
  return exchange_ && exchange_->give(std::make_shared<const std::string>(std::move(piece)));
}

std::size_t BodyStream::queued() const {
  return exchange_ ? exchange_->queued() : 0;
}

bool BodyStream::abandoned() const {
  return !exchange_ || exchange_->abandoned();
}

void BodyStream::on_abandoned(std::function<void()> callback) {
  if (exchange_) exchange_->on_abandoned(std::move(callback));
}

void BodyStream::close() {
  if (auto exchange = std::exchange(exchange_, nullptr)) detail::finish(*exchange, true);
}

void BodyStream::abort() {
  if (auto exchange = std::exchange(exchange_, nullptr)) detail::finish(*exchange, false);
}

Responder::Responder(std::shared_ptr<detail::Exchange> exchange) : exchange_{std::move(exchange)} {}

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    drop();
    exchange_ = std::move(other.exchange_);
  }
  return *this;
}

Responder::~Responder() {
  drop();
}

void Responder::drop() {
  if (!exchange_) return;
  if (const auto gate = exchange_->gate) {
    exchange_->let_go();
    return gate->dropped(exchange_);
  }
  exchange_->drop();
}

void Responder::set_gate(std::shared_ptr<detail::AnswerGate> gate) const {
  exchange_->gate = std::move(gate);
}

const Request& Responder::request() const {
  return exchange_->request;
}

Turns Responder::turns() const {
  return Turns{exchange_};
}

void Responder::send(Response response) {
  if (!exchange_) return;
  if (const auto gate = exchange_->gate) return gate->send(exchange_, std::move(response));
  exchange_->send(std::move(response));
}

bool Responder::takes_pieces() const {
  return exchange_ && !exchange_->gate && exchange_->takes_pieces();
}

BodyStream Responder::stream(Response head) {
  if (exchange_->gate) exchange_->gate->opened(head.status);
  exchange_->start_stream(std::move(head));
  return BodyStream{exchange_};
}

bool Responder::abandoned() const {
  return !exchange_ || exchange_->abandoned();
}

void Responder::on_abandoned(std::function<void()> callback) {
  if (exchange_) exchange_->on_abandoned(std::move(callback));
}

}  // namespace nomad::net
