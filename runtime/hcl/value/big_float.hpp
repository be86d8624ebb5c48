// BigFloat: mantissa · 2^exponent with a mantissa of any length; the arithmetic behind Number.
// Heavy to include: only number.cpp and number_text.cpp do.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include <boost/multiprecision/cpp_int.hpp>

#include "runtime/text/decimal.hpp"

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

/// mantissa · 2^exponent, exactly.
Decimal exact_decimal(const BigFloat::Integer& mantissa, std::int64_t exponent);

/// The shortest digits that round to `value` at `precision` bits.
Decimal shortest(const BigFloat& value, unsigned precision);

}  // namespace nomad::hcl
