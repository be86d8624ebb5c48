// Tunnels: what a connection does once it has left HTTP, and the Tunnel that handlers see of it.
//
// Input goes to whoever listens, as it is read, until a window's worth is not acknowledged; before
// anybody listens it waits in `pending_`. Everything that goes on reading is posted, never called
// from within a delivery, so that a delivery may acknowledge and write at once.
#include <utility>

#include "runtime/net/http/http_connection.hpp"

namespace nomad::net {

// -- the connection -------------------------------------------------------------------------------

void Connection::start_tunnel(const std::shared_ptr<detail::HttpExchange>& exchange,
                              Response head) {
  if (exchange != exchange_ || phase_ != Phase::waiting) return;
  const auto self = shared_from_this();
  keep_alive_ = false;
  is_chunked_ = false;
  append_head(head, std::nullopt, false);
  phase_ = Phase::tunneling;
  no_deadline();
  if (in_dispatch_)
    return;  // whoever called the handler flushes, and keeps what came with the head
  flush();
  pump_tunnel_soon();
}

void Connection::tunnel_in(std::string_view bytes) {
  if (!pending_.empty() || !exchange_->listens()) {
    pending_.append(bytes);
    return;
  }
  tunnel_waiting_ += bytes.size();
  exchange_->deliver(bytes, false);
}

void Connection::pump_tunnel_soon() {
  if (std::exchange(tunnel_pump_posted_, true)) return;
  worker_.post([self = self()] {
    self->tunnel_pump_posted_ = false;
    self->safely([&] { self->pump_tunnel(); });
  });
}

void Connection::pump_tunnel() {
  if (phase_ != Phase::tunneling || !exchange_->listens()) return;
  const auto self = shared_from_this();
  if (!pending_.empty()) tunnel_in(std::exchange(pending_, {}));
  if (phase_ != Phase::tunneling) return;
  if (tunnel_peer_ended_) {
    if (!std::exchange(tunnel_end_told_, true)) exchange_->deliver({}, true);
    return;
  }
  read_on();
}

void Connection::take_from_tunnel(std::size_t count) {
  const auto window = worker_.server->options.tunnel_window_bytes;
  const bool was_full = tunnel_waiting_ >= window;
  tunnel_waiting_ -= std::min(count, tunnel_waiting_);
  if (was_full && tunnel_waiting_ < window) pump_tunnel_soon();
}

void Connection::end_tunnel_output(const std::shared_ptr<detail::HttpExchange>& exchange) {
  if (exchange != exchange_ || phase_ != Phase::tunneling) return;
  tunnel_output_ended_ = true;
  if (!in_dispatch_) flush();
}

// -- the exchange ---------------------------------------------------------------------------------

namespace detail {

void HttpExchange::start_tunnel(Response head) {
  {
    const std::lock_guard lock{guard_};
    note_thread();
    if (is_answered_ || is_abandoned_ || !connection_) return;
    is_answered_ = true;
  }
  on_connection(
      [self = shared_from_this(), head = std::move(head)](Connection& connection) mutable {
        connection.start_tunnel(self, std::move(head));
      });
}

void HttpExchange::on_data(std::function<void(std::string_view bytes, bool last)> callback) {
  {
    const std::lock_guard lock{guard_};
    if (is_abandoned_ || !connection_) return;
    on_data_
        = std::make_shared<const std::function<void(std::string_view, bool)>>(std::move(callback));
  }
  on_connection([](Connection& connection) { connection.pump_tunnel_soon(); });
}

bool HttpExchange::listens() const {
  const std::lock_guard lock{guard_};
  return on_data_ != nullptr;
}

void HttpExchange::deliver(std::string_view bytes, bool last) {
  decltype(on_data_) listener;  // lives through the call, which may end the tunnel
  {
    const std::lock_guard lock{guard_};
    listener = on_data_;
  }
  if (listener) (*listener)(bytes, last);
}

void HttpExchange::taken(std::size_t count) {
  on_connection([count](Connection& connection) { connection.take_from_tunnel(count); });
}

void HttpExchange::end_output() {
  {
    const std::lock_guard lock{guard_};
    if (std::exchange(output_ended_, true)) return;
  }
  on_connection(
      [self = shared_from_this()](Connection& connection) { connection.end_tunnel_output(self); });
}

}  // namespace detail

// -- what the handler sees ------------------------------------------------------------------------

Tunnel::Tunnel(std::shared_ptr<detail::Exchange> exchange) : exchange_{std::move(exchange)} {}

Tunnel& Tunnel::operator=(Tunnel&& other) noexcept {
  if (this != &other) {
    close();
    exchange_ = std::move(other.exchange_);
  }
  return *this;
}

Tunnel::~Tunnel() {
  close();
}

bool Tunnel::write(std::string_view bytes, std::function<void()> drained) {
  return exchange_ && exchange_->write(bytes, std::move(drained));
}

std::size_t Tunnel::queued() const {
  return exchange_ ? exchange_->queued() : 0;
}

void Tunnel::on_data(std::function<void(std::string_view bytes, bool last)> callback) {
  if (exchange_) exchange_->on_data(std::move(callback));
}

void Tunnel::taken(std::size_t count) {
  if (exchange_) exchange_->taken(count);
}

void Tunnel::end_output() {
  if (exchange_) exchange_->end_output();
}

void Tunnel::on_abandoned(std::function<void()> callback) {
  if (exchange_) exchange_->on_abandoned(std::move(callback));
}

bool Tunnel::abandoned() const {
  return !exchange_ || exchange_->abandoned();
}

void Tunnel::close() {
  if (auto exchange = std::exchange(exchange_, nullptr)) detail::finish(*exchange, true);
}

void Tunnel::abort() {
  if (auto exchange = std::exchange(exchange_, nullptr)) detail::finish(*exchange, false);
}

Tunnel Responder::tunnel(Response head) {
  if (exchange_->gate) exchange_->gate->opened(head.status);
  exchange_->start_tunnel(std::move(head));
  return Tunnel{exchange_};
}

}  // namespace nomad::net
