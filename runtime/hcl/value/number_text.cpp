// Numbers as text: exact decimals, and the shortest digits that still mean the same number.
#include <algorithm>

#include "runtime/hcl/value/big_float.hpp"
#include "runtime/hcl/value/number.hpp"

namespace nomad::hcl {

namespace {

using Integer = BigFloat::Integer;

}  // namespace

Decimal exact_decimal(const Integer& mantissa, std::int64_t exponent) {
  Decimal out;
  if (mantissa.is_zero()) return out;
  if (exponent >= 0) {
    out.digits = Integer{mantissa << static_cast<unsigned>(exponent)}.str();
    out.point = static_cast<std::int64_t>(out.digits.size());
  } else {
    out.digits = Integer{mantissa * pow(Integer{5}, static_cast<unsigned>(-exponent))}.str();
    out.point = static_cast<std::int64_t>(out.digits.size()) + exponent;
  }
  out.strip_zeros();
  return out;
}

Decimal shortest(const BigFloat& value, unsigned precision) {
  Decimal out = exact_decimal(value.mantissa, value.exponent);
  if (out.digits.empty()) return out;
  // The mantissa with one bit more than the precision: its last bit is half a unit.
  const unsigned have = value.bits();
  const unsigned want = std::max(precision, have) + 1;
  const Integer mantissa = value.mantissa << (want - have);
  const std::int64_t exponent = value.exponent - static_cast<std::int64_t>(want - have);
  const Decimal lower = exact_decimal(mantissa - 1, exponent);
  const Decimal upper = exact_decimal(mantissa + 1, exponent);
  const bool inclusive = !bit_test(mantissa, 1);  // a tie would round to this even mantissa
  for (std::size_t i = 0; i < out.digits.size(); ++i) {
    const char low = i < lower.digits.size() ? lower.digits[i] : '0';
    const char mid = out.digits[i];
    const char high = i < upper.digits.size() ? upper.digits[i] : '0';
    const bool down = low != mid || (inclusive && i + 1 == lower.digits.size());
    const bool up = mid != high && (inclusive || mid + 1 < high || i + 1 < upper.digits.size());
    const auto count = static_cast<std::int64_t>(i + 1);
    if (down && up)
      out.round(count);
    else if (down)
      out.round_down(count);
    else if (up)
      out.round_up(count);
    if (down || up) break;
  }
  return out;
}

std::string Number::to_string() const {
  if (big_ == nullptr) return std::to_string(whole_);
  if (big_->infinite) return big_->negative ? "-Inf" : "+Inf";
  return (big_->negative ? "-" : "") + shortest(*big_, precision_).fixed();
}

std::string Number::integer_digits(int base) const {
  const BigFloat value = big();
  Integer whole = value.whole_part();
  const bool negative = value.negative && !whole.is_zero();
  if (base == 10) return (negative ? "-" : "") + whole.str();
  if (base == 16 || base == 8)
    return (negative ? "-" : "")
           + whole.str(0, base == 16 ? std::ios_base::hex : std::ios_base::oct);
  std::string bits;
  for (unsigned i = whole.is_zero() ? 1 : msb(whole) + 1; i > 0; --i)
    bits += bit_test(whole, i - 1) ? '1' : '0';
  return (negative ? "-" : "") + bits;
}

std::string Number::format(char verb, int precision) const {
  const BigFloat value = big();
  if (value.infinite) return value.negative ? "-Inf" : "+Inf";
  const std::string sign = value.negative ? "-" : "";
  Decimal digits
      = precision < 0 ? shortest(value, precision_) : exact_decimal(value.mantissa, value.exponent);
  if (verb == 'e' || verb == 'E') {
    if (precision < 0) return sign + digits.scientific(verb);
    digits.round(precision + 1);
    return sign + digits.scientific(precision, verb);
  }
  if (verb == 'f') {
    if (precision < 0) return sign + digits.fixed();
    digits.round(digits.point + precision);
    return sign + digits.fixed(precision);
  }
  return sign + digits.general(precision, verb == 'G' ? 'E' : 'e');
}

}  // namespace nomad::hcl
