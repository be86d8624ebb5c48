#include "actors/client/task/usage_stream.hpp"

#include <algorithm>
#include <utility>

namespace nomad::client {
namespace {

constexpr Nanoseconds wanted_for = std::chrono::seconds{10};

}  // namespace

void UsageStream::run_is(std::string run_id) {
  run_id_ = std::move(run_id);
  streams_ = false;
  heard_.reset();
  failure_.reset();
}

void UsageStream::asked(Nanoseconds now) {
  asked_again_ = last_asked_ && now - *last_asked_ < wanted_for;
  last_asked_ = now;
}

bool UsageStream::may_stream(Nanoseconds now) const {
  if (run_id_.empty() || failure_) return false;
  // A longer interval than that would answer nobody who asks.
  const bool is_asked
      = interval_ <= wanted_for / 2 && asked_again_ && now - *last_asked_ < wanted_for;
  return interval_.count() > 0 && (always_ || is_asked);
}

Nanoseconds UsageStream::take_interval(Nanoseconds now) {
  streams_ = may_stream(now);
  return streams_ ? interval_ : Nanoseconds{0};
}

std::optional<Nanoseconds> UsageStream::look_in(Nanoseconds now) const {
  if (!streams_ || always_) return std::nullopt;
  return std::max(*last_asked_ + wanted_for - now, Nanoseconds{0});
}

void UsageStream::heard(client_api::TaskUsage usage, Nanoseconds now) {
  heard_ = std::make_unique<const Heard>(Heard{std::move(usage), now});
}

void UsageStream::failed(Error why) {
  failure_ = std::make_unique<const Error>(std::move(why));
  streams_ = false;
  heard_.reset();
}

const client_api::TaskUsage* UsageStream::newest(Nanoseconds now) const {
  const auto oldest = std::min(interval_ * 2, wanted_for);
  return streams_ && heard_ && now - heard_->at <= oldest ? &heard_->usage : nullptr;
}

}  // namespace nomad::client
