// Numbers as text: exact decimals, and the shortest digits that still mean the same number.
#include <algorithm>

#include "runtime/hcl/value/big_float.hpp"
#include "runtime/hcl/value/number.hpp"

namespace nomad::hcl {

namespace {

using Integer = BigFloat::Integer;

char digit_at(const Decimal& decimal, std::size_t i) {
  return i < decimal.digits.size() ? decimal.digits[i] : '0';
}

bool rounds_up(const Decimal& decimal, std::size_t count) {
  if (decimal.digits[count] == '5' && count + 1 == decimal.digits.size())
    return count > 0 && (decimal.digits[count - 1] - '0') % 2 != 0;  // exactly half: to even
  return decimal.digits[count] >= '5';
}

void strip_zeros(Decimal& decimal) {
  while (!decimal.digits.empty() && decimal.digits.back() == '0')
    decimal.digits.pop_back();
  if (decimal.digits.empty()) decimal.point = 0;
}

/// `count` digits after the point.
std::string fixed(const Decimal& decimal, std::int64_t count) {
  std::string out;
  if (decimal.point > 0)
    for (std::int64_t i = 0; i < decimal.point; ++i)
      out += digit_at(decimal, static_cast<std::size_t>(i));
  else
    out += '0';
  if (count <= 0) return out;
  out += '.';
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = decimal.point + i;
    out += at < 0 ? '0' : digit_at(decimal, static_cast<std::size_t>(at));
  }
  return out;
}

std::string scientific(const Decimal& decimal, std::int64_t count, char letter) {
  std::string out{digit_at(decimal, 0)};
  if (count > 0) out += '.';
  for (std::int64_t i = 1; i <= count; ++i)
    out += digit_at(decimal, static_cast<std::size_t>(i));
  const std::int64_t exponent = decimal.digits.empty() ? 0 : decimal.point - 1;
  const std::string digits = std::to_string(std::abs(exponent));
  return out + letter + (exponent < 0 ? '-' : '+') + (digits.size() < 2 ? "0" : "") + digits;
}

/// %g: %e for small and large exponents, else %f. A negative precision is the shortest form.
std::string general(Decimal decimal, std::int64_t precision, bool upper) {
  constexpr std::int64_t shortest_limit = 6;
  const bool shortest_form = precision < 0;
  if (!shortest_form) {
    precision = std::max<std::int64_t>(precision, 1);
    decimal.round(precision);
  }
  const auto size = static_cast<std::int64_t>(decimal.digits.size());
  if (shortest_form) precision = size;
  std::int64_t limit = precision > size && size >= decimal.point ? size : precision;
  if (shortest_form) limit = shortest_limit;
  const std::int64_t exponent = decimal.point - 1;
  if (exponent < -4 || exponent >= limit)
    return scientific(decimal, std::min(precision, size) - 1, upper ? 'E' : 'e');
  if (precision > decimal.point) precision = size;
  return fixed(decimal, std::max<std::int64_t>(precision - decimal.point, 0));
}

}  // namespace

Decimal Decimal::exact(const Integer& mantissa, std::int64_t exponent) {
  Decimal out;
  if (mantissa.is_zero()) return out;
  if (exponent >= 0) {
    out.digits = Integer{mantissa << static_cast<unsigned>(exponent)}.str();
    out.point = static_cast<std::int64_t>(out.digits.size());
  } else {
    out.digits = Integer{mantissa * pow(Integer{5}, static_cast<unsigned>(-exponent))}.str();
    out.point = static_cast<std::int64_t>(out.digits.size()) + exponent;
  }
  strip_zeros(out);
  return out;
}

void Decimal::round(std::int64_t count) {
  if (count < 0 || count >= static_cast<std::int64_t>(digits.size())) return;
  if (rounds_up(*this, static_cast<std::size_t>(count)))
    round_up(count);
  else
    round_down(count);
}

void Decimal::round_down(std::int64_t count) {
  if (count < 0 || count >= static_cast<std::int64_t>(digits.size())) return;
  digits.resize(static_cast<std::size_t>(count));
  strip_zeros(*this);
}

void Decimal::round_up(std::int64_t count) {
  if (count < 0 || count >= static_cast<std::int64_t>(digits.size())) return;
  auto at = static_cast<std::size_t>(count);
  while (at > 0 && digits[at - 1] == '9')
    --at;
  if (at == 0) {  // all nines
    digits = "1";
    ++point;
    return;
  }
  digits.resize(at);
  ++digits[at - 1];
}

Decimal shortest(const BigFloat& value, unsigned precision) {
  Decimal out = Decimal::exact(value.mantissa, value.exponent);
  if (out.digits.empty()) return out;
  // The mantissa with one bit more than the precision: its last bit is half a unit.
  const unsigned have = value.bits();
  const unsigned want = std::max(precision, have) + 1;
  const Integer mantissa = value.mantissa << (want - have);
  const std::int64_t exponent = value.exponent - static_cast<std::int64_t>(want - have);
  const Decimal lower = Decimal::exact(mantissa - 1, exponent);
  const Decimal upper = Decimal::exact(mantissa + 1, exponent);
  const bool inclusive = !bit_test(mantissa, 1);  // a tie would round to this even mantissa
  for (std::size_t i = 0; i < out.digits.size(); ++i) {
    const char low = digit_at(lower, i);
    const char mid = out.digits[i];
    const char high = digit_at(upper, i);
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
  const Decimal decimal = shortest(*big_, precision_);
  const auto size = static_cast<std::int64_t>(decimal.digits.size());
  return (big_->negative ? "-" : "")
         + fixed(decimal, std::max<std::int64_t>(size - decimal.point, 0));
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
  if (precision < 0) {
    const Decimal digits = shortest(value, precision_);
    const auto size = static_cast<std::int64_t>(digits.digits.size());
    if (verb == 'e' || verb == 'E')
      return sign + scientific(digits, std::max<std::int64_t>(size - 1, 0), verb);
    if (verb == 'f') return sign + fixed(digits, std::max<std::int64_t>(size - digits.point, 0));
    return sign + general(digits, -1, verb == 'G');
  }
  Decimal digits = Decimal::exact(value.mantissa, value.exponent);
  if (verb == 'e' || verb == 'E') {
    digits.round(precision + 1);
    return sign + scientific(digits, precision, verb);
  }
  if (verb == 'f') {
    digits.round(digits.point + precision);
    return sign + fixed(digits, precision);
  }
  return sign + general(std::move(digits), precision, verb == 'G');
}

}  // namespace nomad::hcl
