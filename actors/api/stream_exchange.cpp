#include "actors/api/stream_exchange.hpp"

#include <vector>

#include "actors/api/api_wire.hpp"

namespace nomad::api {
namespace {

/// Large bodies are handed over in such pieces, so that little is queued twice.
constexpr std::size_t piece_bytes = 256 * 1024;

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
    auto body = response.shared_body
                    ? std::move(response.shared_body)
                    : std::make_shared<const std::string>(std::move(response.body));
    add(write_response_head(response, body->size()), {});
    const Bytes whole{body, std::as_bytes(std::span{*body})};
    for (std::size_t at = 0; at < whole.size(); at += piece_bytes)
      add(whole.slice(at, std::min(piece_bytes, whole.size() - at)), {});
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
    if (is_abandoned_ || is_ending_ || is_over_) return false;
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
      is_ending_ = true;
    }
    pump();
    return;
  }
  std::deque<Piece> dropped;
  {
    const std::scoped_lock lock{guard_};
    if (std::exchange(is_over_, true)) return;
    dropped.swap(pieces_);
    queued_ = 0;
  }
  reply_(Error{Errc::cancelled, "the answer broke off"});
}

void StreamExchange::drop() {
  send({.status = 500,
        .content_type = "text/plain; charset=utf-8",
        .body = "the request was not answered"});
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

/// Hands over what the stream takes now; ends it after the last piece.
void StreamExchange::pump() {
  std::vector<std::function<void()>> drained;
  std::function<void()> forgotten;
  bool is_last = false;
  {
    const std::scoped_lock lock{guard_};
    while (!pieces_.empty() && stream_->write(pieces_.front().bytes)) {
      queued_ -= pieces_.front().bytes.size();
      if (pieces_.front().drained) drained.push_back(std::move(pieces_.front().drained));
      pieces_.pop_front();
    }
    if (pieces_.empty() && is_ending_ && !is_over_) {
      is_last = is_over_ = true;
      forgotten.swap(abandoned_);
    }
  }
  for (const auto& callback : drained)
    callback();
  if (!is_last) return;
  stream_->end();
  reply_(Bytes{});
}

void StreamExchange::cancelled() {
  std::deque<Piece> dropped;
  std::function<void()> callback;
  {
    const std::scoped_lock lock{guard_};
    if (is_over_) return;
    is_abandoned_ = is_over_ = true;
    queued_ = 0;
    dropped.swap(pieces_);
    callback.swap(abandoned_);
  }
  if (callback) callback();
}

}  // namespace nomad::api
