// Countdown: calls a function when as many answers have come as were awaited, in whatever turns.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace nomad::client {

/// Copies are the same one. It counts one more than what is awaited: whoever asks calls it himself
/// after the last question, so that nothing to ask is an end, too.
class Countdown {
public:
  explicit Countdown(std::function<void()> done)
      : left_(std::make_shared<Left>(Left{1, std::move(done)})) {}

  void await() const { ++left_->count; }

  void operator()() const {
    if (--left_->count == 0) left_->done();
  }

private:
  struct Left {
    std::size_t count;
    std::function<void()> done;
  };

  std::shared_ptr<Left> left_;
};

}  // namespace nomad::client
