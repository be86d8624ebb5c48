// BigFloat: mantissa · 2^exponent with a mantissa of any length; the arithmetic behind Number.
// Heavy to include: only number.cpp and number_text.cpp do.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include <boost/multiprecision/cpp_int.hpp>

namespace nomad::hcl {

/// Invariant: `mantissa` is not negative and odd, or zero with exponent 0; of an infinity it is
/// zero.
struct BigFloat {
  using Integer = boost::multiprecision::cpp_int;

  bool negative = false;
  bool infinite = false;
  Integer mantissa;
  std::int64_t exponent = 0;

  bool is_zero() const { return !infinite && mantissa.is_zero(); }

  bool is_whole() const { return !infinite && exponent >= 0; }

  /// Bits the mantissa needs.
  unsigned bits() const;
  /// The whole part, towards zero, without sign.
  Integer whole_part() const;

  /// Restores the invariant.
  void normalize();
  /// To at most `precision` bits, half to even.
  void round(unsigned precision);

  static BigFloat make(bool negative, Integer mantissa, std::int64_t exponent);
  static std::strong_ordering compare(const BigFloat& a, const BigFloat& b);
};

/// Decimal digits d1 d2 … of a value 0.d1d2… · 10^point, without zeros at either end; empty for 0.
struct Decimal {
  std::string digits;
  std::int64_t point = 0;

  /// mantissa · 2^exponent, exactly.
  static Decimal exact(const BigFloat::Integer& mantissa, std::int64_t exponent);
  /// To `count` digits: half to even, down, up.
  void round(std::int64_t count);
  void round_down(std::int64_t count);
  void round_up(std::int64_t count);
};

/// The shortest digits that round to `value` at `precision` bits.
Decimal shortest(const BigFloat& value, unsigned precision);

}  // namespace nomad::hcl
