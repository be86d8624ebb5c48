#include "actors/api/forward/stream_exchange.hpp"

#include <vector>

#include "actors/api/forward/api_wire.hpp"

namespace nomad::api {
namespace {

/// Large bodies are handed over in such pieces, so that little is queued twice.
constexpr std::size_t answer_piece = 256 * 1024;

}  // namespace

StreamExchange::StreamExchange(std::shared_ptr<net::RpcStream> stream, rpc::ReplyTo reply)
    : stream_{std::move(stream)}, reply_{std::move(reply)} {}

std::shared_ptr<StreamExchange> StreamExchange::make(const rpc::Inbound& inbound) {
  const std::shared_ptr<StreamExchange> exchange{new StreamExchange{inbound.stream, inbound.reply}};
  const std::weak_ptr<StreamExchange> weak = exchange;
  inbound.stream->on_writable([weak] {
    if (const auto self = weak.lock()) self->pump();
  });
  inbound.on_cancelled([weak] {
    if (const auto self = weak.lock()) self->cancelled();
  });
  return exchange;
}

void StreamExchange::add(Bytes bytes, std::function<void()> drained) {
  queued_ += bytes.size();
  pieces_.push_back({std::move(bytes), std::move(drained)});
}

void StreamExchange::send(net::Response response) {
  {
    const std::scoped_lock lock{guard_};
    if (is_answered_ || is_abandoned_) return;
    is_answered_ = is_ending_ = true;
    itself_ = shared_from_this();
    auto body = response.shared_body
                    ? std::move(response.shared_body)
                    : std::make_shared<const std::string>(std::move(response.body));
    add(write_response_head(response, body->size()), {});
    const Bytes whole{body, std::as_bytes(std::span{*body})};
    for (std::size_t at = 0; at < whole.size(); at += answer_piece)
      add(whole.slice(at, std::min(answer_piece, whole.size() - at)), {});
  }
  pump();
}

void StreamExchange::start_stream(net::Response head) {
  {
    const std::scoped_lock lock{guard_};
    if (is_answered_ || is_abandoned_) return;
    is_answered_ = true;
    add(write_response_head(head, {}), {});
  }
  pump();
}

bool StreamExchange::write(std::string_view chunk, std::function<void()> drained) {
  {
    const std::scoped_lock lock{guard_};
    if (is_abandoned_ || is_ending_ || output_ends_ || is_over_) return false;
    if (queued_ != 0 && queued_ + chunk.size() > queue_bytes) return false;
    add(Bytes::copy(chunk), std::move(drained));
  }
  pump();
  return true;
}

void StreamExchange::end(bool properly) {
  if (properly) {
    {
      const std::scoped_lock lock{guard_};
      if (is_over_) return;
      is_ending_ = true;
      itself_ = shared_from_this();
    }
    pump();
    return;
  }
  std::shared_ptr<StreamExchange> itself;
  std::deque<Piece> dropped;
  std::shared_ptr<const Listener> deaf;
  {
    const std::scoped_lock lock{guard_};
    if (std::exchange(is_over_, true)) return;
    itself.swap(itself_);
    dropped.swap(pieces_);
    deaf.swap(listener_);
    queued_ = 0;
  }
  reply_(Error{Errc::cancelled, "the answer broke off"});
}

void StreamExchange::drop() {
  send(net::detail::unanswered());
}

bool StreamExchange::abandoned() const {
  const std::scoped_lock lock{guard_};
  return is_abandoned_;
}

std::size_t StreamExchange::queued() const {
  const std::scoped_lock lock{guard_};
  return queued_;
}

void StreamExchange::on_abandoned(std::function<void()> callback) {
  {
    const std::scoped_lock lock{guard_};
    if (!is_abandoned_) {
      if (!is_over_) abandoned_.swap(callback);
      return;
    }
  }
  callback();
}

void StreamExchange::start_tunnel(net::Response head) {
  start_stream(std::move(head));
}

void StreamExchange::on_data(Listener callback) {
  {
    const std::scoped_lock lock{guard_};
    if (is_abandoned_ || is_over_) return;
    listener_ = std::make_shared<const Listener>(std::move(callback));
  }
  stream_->on_data([weak = weak_from_this()](const Bytes& bytes, bool last) {
    if (const auto self = weak.lock()) self->arrived(bytes.text(), last);
  });
}

void StreamExchange::arrived(std::string_view bytes, bool last) {
  std::shared_ptr<const Listener> listener;  // lives through the call, which may end the tunnel
  {
    const std::scoped_lock lock{guard_};
    listener = listener_;
  }
  if (!listener) return stream_->taken(bytes.size());
  if (!bytes.empty()) (*listener)(bytes, false);
  if (last) (*listener)({}, true);
}

void StreamExchange::taken(std::size_t count) {
  stream_->taken(count);
}

void StreamExchange::end_output() {
  {
    const std::scoped_lock lock{guard_};
    output_ends_ = true;
  }
  pump();
}

/// Hands over what the stream takes now; ends it after the last piece.
void StreamExchange::pump() {
  std::shared_ptr<StreamExchange> itself;
  std::vector<std::function<void()>> drained;
  std::function<void()> forgotten;
  std::shared_ptr<const Listener> deaf;
  bool is_last = false;
  bool ends_output = false;
  {
    const std::scoped_lock lock{guard_};
    while (!pieces_.empty() && stream_->write(pieces_.front().bytes)) {
      queued_ -= pieces_.front().bytes.size();
      if (pieces_.front().drained) drained.push_back(std::move(pieces_.front().drained));
      pieces_.pop_front();
    }
    if (pieces_.empty() && is_ending_ && !is_over_) {
      is_last = is_over_ = true;
      itself.swap(itself_);
      forgotten.swap(abandoned_);
      deaf.swap(listener_);
    }
    if (pieces_.empty() && (output_ends_ || is_last))
      ends_output = !std::exchange(output_ended_, true);
  }
  for (const auto& callback : drained)
    callback();
  if (ends_output) stream_->end();
  if (is_last) reply_(Bytes{});
}

void StreamExchange::cancelled() {
  std::shared_ptr<StreamExchange> itself;
  std::deque<Piece> dropped;
  std::shared_ptr<const Listener> deaf;
  std::function<void()> callback;
  {
    const std::scoped_lock lock{guard_};
    if (is_over_) return;
    is_abandoned_ = is_over_ = true;
    itself.swap(itself_);
    queued_ = 0;
    dropped.swap(pieces_);
    deaf.swap(listener_);
    callback.swap(abandoned_);
  }
  if (callback) callback();
}

}  // namespace nomad::api
