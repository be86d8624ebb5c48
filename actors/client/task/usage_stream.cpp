#include "actors/client/task/usage_stream.hpp"

#include <algorithm>
#include <utility>

namespace nomad::client {
namespace {

constexpr Nanoseconds wanted_for = std::chrono::seconds{10};

}  // namespace

void UsageStream::run_is(std::string run_id) {
  run_id_ = std::move(run_id);
  streamed_at_ = Nanoseconds{0};
  heard_.reset();
  failure_.reset();
}

void UsageStream::asked(Nanoseconds now) {
  asked_again_ = last_asked_ && now - *last_asked_ < wanted_for;
  last_asked_ = now;
}

bool UsageStream::is_wanted_often(Nanoseconds now) const {
  // A longer interval than that would answer nobody who asks.
  const bool is_asked
      = interval_ <= wanted_for / 2 && asked_again_ && now - *last_asked_ < wanted_for;
  return interval_.count() > 0 && (always_ || is_asked);
}

Nanoseconds UsageStream::wanted(Nanoseconds now) const {
  if (run_id_.empty() || failure_) return Nanoseconds{0};
  return is_wanted_often(now) ? interval_ : kept_;
}

Nanoseconds UsageStream::take_interval(Nanoseconds now) {
  streamed_at_ = wanted(now);
  return streamed_at_;
}

std::optional<Nanoseconds> UsageStream::look_in(Nanoseconds now) const {
  if (streamed_at_.count() == 0 || always_ || !is_wanted_often(now)) return std::nullopt;
  return std::max(*last_asked_ + wanted_for - now, Nanoseconds{0});
}

void UsageStream::heard(client_api::TaskUsage usage, Nanoseconds now) {
  heard_ = std::make_unique<const Heard>(Heard{std::move(usage), now});
}

void UsageStream::failed(Error why) {
  failure_ = std::make_unique<const Error>(std::move(why));
  streamed_at_ = Nanoseconds{0};
  heard_.reset();
}

const client_api::TaskUsage* UsageStream::newest(Nanoseconds now) const {
  const auto oldest = std::min(interval_ * 2, wanted_for);
  return streamed_at_ == interval_ && streamed_at_.count() > 0 && heard_
                 && now - heard_->at <= oldest
             ? &heard_->usage
             : nullptr;
}

}  // namespace nomad::client
