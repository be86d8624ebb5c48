#include "actors/api/forward/relay_input.hpp"

#include <utility>

namespace nomad::api {

void RelayInput::begin(std::shared_ptr<net::RpcStream> stream,
                       std::function<void(std::size_t)> taken) {
  const std::scoped_lock lock{guard_};
  stream_ = std::move(stream);
  taken_ = std::move(taken);
}

void RelayInput::add(std::string_view bytes, bool last) {
  {
    const std::scoped_lock lock{guard_};
    if (!bytes.empty()) waiting_.push_back(Bytes::copy(bytes));
    has_ended_ = has_ended_ || last;
  }
  send();
}

void RelayInput::send() {
  std::shared_ptr<net::RpcStream> ended;  // may be the last to hold it, and it its callbacks
  const std::scoped_lock lock{guard_};
  if (!stream_) return;
  std::size_t sent = 0;
  for (; !waiting_.empty() && stream_->write(waiting_.front()); waiting_.pop_front())
    sent += waiting_.front().size();
  if (waiting_.empty() && has_ended_) {
    ended = std::exchange(stream_, nullptr);
    ended->end();
  }
  if (sent > 0) taken_(sent);
}

void RelayInput::drop() {
  std::shared_ptr<net::RpcStream> dropped;
  std::function<void(std::size_t)> taken;
  const std::scoped_lock lock{guard_};
  dropped.swap(stream_);
  taken.swap(taken_);
  waiting_.clear();
}

}  // namespace nomad::api
