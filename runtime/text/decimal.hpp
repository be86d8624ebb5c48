// Decimal: the digits of a number, and how C and Go lay them out (%e, %f, %g).
#pragma once

#include <cstdint>
#include <string>

namespace nomad {

/// Digits d1 d2 … of a value 0.d1d2… · 10^point, without zeros at either end; empty for 0.
struct Decimal {
  std::string digits;
  std::int64_t point = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(digits.size()); }

  /// Takes zeros off the end.
  void strip_zeros();

  /// To `count` digits: half to even, down, up.
  void round(std::int64_t count);
  void round_down(std::int64_t count);
  void round_up(std::int64_t count);

  /// %f with `count` digits after the point; by default, all there are.
  std::string fixed(std::int64_t count) const;

  std::string fixed() const { return fixed(size() > point ? size() - point : 0); }

  /// %e with `count` digits after the point; by default, all there are.
  std::string scientific(std::int64_t count, char letter) const;

  std::string scientific(char letter) const { return scientific(size() - 1, letter); }

  /// %g: %e for small and large exponents, else %f. A negative precision is the shortest form.
  std::string general(std::int64_t precision, char letter) const;
};

}  // namespace nomad
