#include "actors/api/forward/inner_exchange.hpp"

#include <utility>
#include <vector>

namespace nomad::api {

InnerExchange::Taken InnerExchange::take_some(std::size_t most_bytes) {
  Taken taken;
  std::vector<std::function<void()>> drained;
  {
    const std::lock_guard lock{guard_};
    taken.answer = std::exchange(answer_, std::nullopt);
    while (!pieces_.empty() && taken.bytes.size() < most_bytes) {
      auto& piece = pieces_.front();
      queued_ -= piece.bytes.size();
      taken.bytes += piece.bytes;
      if (piece.drained) drained.push_back(std::move(piece.drained));
      pieces_.pop_front();
    }
    taken.has_ended = has_ended_ && pieces_.empty();
    taken.broke_off = taken.has_ended && broke_off_;
  }
  for (const auto& callback : drained)
    callback();
  return taken;
}

void InnerExchange::abandon() {
  std::deque<Piece> dropped;
  std::function<void()> callback;
  {
    const std::lock_guard lock{guard_};
    is_abandoned_ = has_ended_ = true;
    dropped.swap(pieces_);
    callback.swap(abandoned_);
    queued_ = 0;
  }
  if (callback) callback();
}

void InnerExchange::send(net::Response response) {
  {
    const std::lock_guard lock{guard_};
    if (std::exchange(is_answered_, true)) return;
    if (response.shared_body) response.body = *response.shared_body;
    answer_ = std::move(response);
  }
  finish(true);
}

void InnerExchange::start_stream(net::Response) {
  const std::lock_guard lock{guard_};
  is_answered_ = true;
}

bool InnerExchange::write(std::string_view chunk, std::function<void()> drained) {
  {
    const std::lock_guard lock{guard_};
    if (has_ended_) return false;
    queued_ += chunk.size();
    pieces_.push_back({std::string{chunk}, std::move(drained)});
  }
  changed_();
  return true;
}

void InnerExchange::finish(bool properly) {
  std::function<void()> forgotten;
  {
    const std::lock_guard lock{guard_};
    if (std::exchange(has_ended_, true)) return;
    broke_off_ = !properly;
    forgotten.swap(abandoned_);
  }
  changed_();
}

void InnerExchange::end(bool properly) {
  finish(properly);
}

void InnerExchange::drop() {
  send(net::detail::unanswered());
}

bool InnerExchange::abandoned() const {
  const std::lock_guard lock{guard_};
  return is_abandoned_;
}

std::size_t InnerExchange::queued() const {
  const std::lock_guard lock{guard_};
  return queued_;
}

void InnerExchange::on_abandoned(std::function<void()> callback) {
  {
    const std::lock_guard lock{guard_};
    if (!is_abandoned_) {
      if (!has_ended_) abandoned_.swap(callback);
      return;
    }
  }
  if (callback) callback();
}

}  // namespace nomad::api
