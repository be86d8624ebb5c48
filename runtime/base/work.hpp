// Work: what one evaluation may still do, counted in bytes that it touches. Templates, expressions
// of job files, filters and regular expressions all take from one, so that none of them runs on for
// what a job or a request happens to say.
//
// Who evaluates takes units before it does what they stand for: one for a byte that is read,
// compared, copied or made, `step` for a step that touches none. Each `look_every` units whoever
// asked is asked whether it still wants the result: so a stop or a deadline is seen within
// milliseconds, also inside of loops, as long as nothing takes more than `at_once` for one piece.
// Once refused, always refused. For one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "runtime/base/result.hpp"

namespace nomad {

class Work {
public:
  /// Fails if nobody wants the result any more. Such an error is what the evaluation fails with.
  using Look = std::function<Result<void>()>;

  /// What a step without bytes costs: about as long as to read so many.
  static constexpr std::uint64_t step = 64;
  /// Units between two looks.
  static constexpr std::uint64_t look_every = std::uint64_t{1} << 20U;
  /// What may be taken for one piece of work that can't be stopped: some tenths of a second.
  static constexpr std::uint64_t at_once = std::uint64_t{1} << 28U;

  /// At most `most` units. Without `look` nothing but that ends the work.
  explicit Work(std::uint64_t most, Look look = {}) : most_{most}, look_{std::move(look)} {}

  /// Takes units for what is done next. Fails with `too_large` if there are not so many left, and
  /// as `look` does.
  Result<void> take(std::uint64_t units) {
    used_ = units > std::numeric_limits<std::uint64_t>::max() - used_
                ? std::numeric_limits<std::uint64_t>::max()
                : used_ + units;
    if (used_ < next_look_ && used_ <= most_) return {};
    return slow_take();
  }

  /// The same for who can't fail: the next one who takes something does.
  void note(std::uint64_t units) { static_cast<void>(take(units).has_value()); }

  Result<void> take_steps(std::uint64_t steps) { return take(times(steps, step)); }

  /// Takes units for one piece that nothing can stop. Fails beyond `at_once`, too.
  Result<void> take_at_once(std::uint64_t units);

  std::uint64_t used() const { return used_; }

  /// `a * b`, or the greatest number.
  static std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                  : product;
  }

private:
  Result<void> slow_take();

  std::uint64_t most_;
  Look look_;
  std::uint64_t used_ = 0;
  std::uint64_t next_look_ = look_every;
  std::optional<Error> refused_{};
};

}  // namespace nomad
