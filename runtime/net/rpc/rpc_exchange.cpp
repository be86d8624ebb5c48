#include "runtime/net/rpc/rpc_exchange.hpp"

#include <utility>

#include "runtime/net/rpc/rpc_connection.hpp"

namespace nomad::net {
namespace detail {

// -- StreamEnd -----------------------------------------------------------------------------------

bool StreamEnd::write(Bytes bytes) {
  {
    const std::lock_guard lock{guard_};
    if (closed_ || ended_) return false;
    if (waiting_bytes_ >= limit_) {
      refused_ = true;
      return false;
    }
    if (bytes.empty()) return true;
    waiting_bytes_ += bytes.size();
    waiting_.push_back(std::move(bytes));
    if (std::exchange(push_posted_, true)) return true;
  }
  post_push();
  return true;
}

void StreamEnd::end() {
  {
    const std::lock_guard lock{guard_};
    if (std::exchange(ended_, true) || closed_ || std::exchange(push_posted_, true)) return;
  }
  post_push();
}

void StreamEnd::post_push() {
  worker_->post([self = shared_from_this()] { self->push(); });
}

void StreamEnd::push() {
  std::function<void()> writable;
  std::optional<Result<Bytes>> outcome;
  const auto socket = socket_;
  {
    const std::lock_guard lock{guard_};
    push_posted_ = false;
    if (!socket_ || closed_) return;
    while (!waiting_.empty() && socket_->mux().write(id_, waiting_.front())) {
      waiting_bytes_ -= waiting_.front().size();
      waiting_.pop_front();
    }
    if (waiting_.empty() && ended_ && !std::exchange(end_sent_, true))
      socket_->mux().end_write(id_);
    if (waiting_.empty()) outcome.swap(outcome_);
    if (refused_ && waiting_bytes_ < limit_ / 2) {
      refused_ = false;
      writable = on_writable_;
    }
  }
  socket->flush_soon();
  if (outcome) return socket->answer(id_, std::move(*outcome));
  if (writable) writable();
}

bool StreamEnd::finish(const Result<Bytes>& outcome) {
  push();
  const std::lock_guard lock{guard_};
  if (waiting_.empty() || closed_) return true;
  outcome_ = outcome;
  return false;
}

void StreamEnd::on_data(std::function<void(Bytes bytes, bool last)> callback) {
  {
    const std::lock_guard lock{guard_};
    on_data_ = std::move(callback);
  }
  // Delivered on the worker's thread, in order with what arrives.
  worker_->post([self = shared_from_this()] { self->deliver({}, false); });
}

void StreamEnd::deliver(Bytes bytes, bool last) {
  std::function<void(Bytes, bool)> callback;
  std::deque<std::pair<Bytes, bool>> ready;
  {
    const std::lock_guard lock{guard_};
    if (!bytes.empty() || last) arrived_.emplace_back(std::move(bytes), last);
    if (!on_data_) return;
    callback = on_data_;
    ready.swap(arrived_);
  }
  for (auto& [piece, is_last] : ready)
    callback(std::move(piece), is_last);
}

void StreamEnd::taken(std::size_t count) {
  worker_->post([self = shared_from_this(), count] {
    if (!self->socket_) return;
    self->socket_->mux().taken(self->id_, count);
    self->socket_->flush_soon();
  });
}

void StreamEnd::on_writable(std::function<void()> callback) {
  const std::lock_guard lock{guard_};
  on_writable_ = std::move(callback);
}

void StreamEnd::on_closed(std::function<void()> callback) {
  {
    const std::lock_guard lock{guard_};
    if (!closed_) {
      on_closed_.swap(callback);
      return;
    }
  }
  callback();
}

void StreamEnd::attach(std::shared_ptr<RpcSocket> socket, RpcStreamId id) {
  {
    const std::lock_guard lock{guard_};
    socket_ = std::move(socket);
    id_ = id;
  }
  push();
}

void StreamEnd::close() {
  std::function<void()> callback;
  std::function<void(Bytes, bool)> data;
  std::function<void()> writable;
  std::shared_ptr<RpcSocket> socket;
  {
    const std::lock_guard lock{guard_};
    closed_ = true;
    waiting_.clear();
    waiting_bytes_ = 0;
    callback.swap(on_closed_);
    if (arrived_.empty()) data.swap(on_data_);  // they may hold this stream: no circle remains
    writable.swap(on_writable_);
    socket.swap(socket_);
  }
  if (callback) callback();
}

// -- RpcExchange ---------------------------------------------------------------------------------

RpcExchange::RpcExchange(std::shared_ptr<RpcSocket> socket, RpcStreamId id, RpcRequest asked)
    : request{std::move(asked)},
      deadline{request.timeout.count() > 0 ? RpcClock::now() + request.timeout
                                           : RpcClock::time_point::max()},
      connection{socket},
      socket_{std::move(socket)},
      id_{id} {}

void RpcExchange::respond(Result<Bytes> outcome) {
  {
    const std::lock_guard lock{guard_};
    if (std::exchange(answered_, true) || cancelled_) return;
  }
  if (id_ == 0) return;
  socket_->worker()->post([socket = socket_, id = id_, outcome = std::move(outcome)]() mutable {
    socket->answer(id, std::move(outcome));
  });
}

void RpcExchange::on_cancelled(std::function<void()> callback) {
  {
    const std::lock_guard lock{guard_};
    if (!cancelled_) {
      callback_.swap(callback);
      return;
    }
  }
  callback();
}

void RpcExchange::cancel() {
  std::function<void()> callback;
  {
    const std::lock_guard lock{guard_};
    cancelled_ = true;
    callback.swap(callback_);
    if (answered_) return;
  }
  if (callback) callback();
}

}  // namespace detail

// -- RpcResponder --------------------------------------------------------------------------------

RpcResponder::RpcResponder(std::shared_ptr<detail::RpcExchange> exchange)
    : exchange_{std::move(exchange)} {}

RpcResponder& RpcResponder::operator=(RpcResponder&& other) noexcept {
  if (this != &other) {
    if (exchange_) exchange_->respond(Error{Errc::internal, "the request was not answered"});
    exchange_ = std::move(other.exchange_);
  }
  return *this;
}

RpcResponder::~RpcResponder() {
  if (exchange_) exchange_->respond(Error{Errc::internal, "the request was not answered"});
}

const RpcRequest& RpcResponder::request() const {
  return exchange_->request;
}

RpcClock::time_point RpcResponder::deadline() const {
  return exchange_->deadline;
}

const RpcConnectionRef& RpcResponder::connection() const {
  return exchange_->connection;
}

void RpcResponder::respond(Bytes body) {
  exchange_->respond(std::move(body));
}

void RpcResponder::fail(const Error& error) {
  exchange_->respond(error);
}

void RpcResponder::on_cancelled(std::function<void()> callback) {
  exchange_->on_cancelled(std::move(callback));
}

std::shared_ptr<RpcStream> RpcResponder::stream() const {
  return exchange_->stream;
}

}  // namespace nomad::net
