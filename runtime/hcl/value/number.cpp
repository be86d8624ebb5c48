#include "runtime/hcl/value/number.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/text.hpp"
#include "runtime/hcl/value/big_float.hpp"

namespace nomad::hcl {

namespace {

using Integer = BigFloat::Integer;

/// Powers of two and ten beyond which a number is infinite or zero.
constexpr std::int64_t max_binary_exponent = 16'384;
constexpr std::int64_t max_decimal_exponent = 2'000;
constexpr std::size_t max_digits = 4'000;

std::int64_t magnitude(const BigFloat& value) {
  return value.exponent + static_cast<std::int64_t>(value.bits());
}

std::uint16_t wider(const Number& a, const Number& b) {
  return std::max(a.precision(), b.precision());
}

BigFloat sum(const BigFloat& a, const BigFloat& b) {
  const BigFloat& low = a.exponent <= b.exponent ? a : b;
  const BigFloat& high = a.exponent <= b.exponent ? b : a;
  Integer left = low.negative ? Integer{-low.mantissa} : low.mantissa;
  Integer right = high.negative ? Integer{-high.mantissa} : high.mantissa;
  right <<= static_cast<unsigned>(high.exponent - low.exponent);
  left += right;
  const bool negative = left < 0 || (left == 0 && a.negative && b.negative);
  return BigFloat::make(negative, abs(left), low.exponent);
}

/// Digits before and after the point, and the exponent that follows.
struct Scanned {
  std::string digits;
  std::int64_t exponent = 0;
  bool binary = false;  // "p" exponents scale by two
};

std::optional<Scanned> scan(std::string_view text) {
  Scanned out;
  std::size_t at = 0;
  bool point = false;
  for (; at < text.size(); ++at) {
    if (is_digit(text[at])) {
      out.digits += text[at];
      out.exponent -= point ? 1 : 0;
    } else if (text[at] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (out.digits.empty() || out.digits.size() > max_digits) return std::nullopt;
  if (at == text.size()) return out;
  const char letter = text[at++];
  out.binary = letter == 'p' || letter == 'P';
  if (!out.binary && letter != 'e' && letter != 'E') return std::nullopt;
  const bool minus = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  std::int64_t exponent = 0;
  const std::size_t first = at;
  for (; at < text.size() && is_digit(text[at]); ++at)
    exponent = std::min<std::int64_t>(exponent * 10 + (text[at] - '0'), 1'000'000'000);
  if (at == first || at != text.size()) return std::nullopt;
  if (out.binary && out.exponent != 0)
    return std::nullopt;  // a fraction scaled by two: nobody writes that
  out.exponent += minus ? -exponent : exponent;
  return out;
}

std::optional<BigFloat> to_float(const Scanned& scanned, bool negative) {
  Integer digits{0};
  for (const char c : scanned.digits) {
    digits *= 10;
    digits += c - '0';
  }
  if (digits.is_zero()) return BigFloat{negative, false, 0, 0};
  const std::int64_t exponent = scanned.exponent;
  if (std::abs(exponent) > max_decimal_exponent + static_cast<std::int64_t>(max_digits))
    return std::nullopt;
  const auto size = static_cast<std::int64_t>(scanned.digits.size());
  if (exponent + size > max_decimal_exponent || exponent + size < -max_decimal_exponent)
    return std::nullopt;
  BigFloat out;
  if (scanned.binary) {
    out = BigFloat::make(negative, digits, exponent);
  } else if (exponent >= 0) {
    out = BigFloat::make(negative, digits * pow(Integer{5}, static_cast<unsigned>(exponent)),
                         exponent);
  } else {  // digits / 10^n: enough quotient bits to round once, with a sticky bit below
    const Integer divisor = pow(Integer{5}, static_cast<unsigned>(-exponent));
    const unsigned shift = Number::literal_precision + 2 + msb(divisor);
    Integer quotient;
    Integer rest;
    divide_qr(Integer{digits << shift}, divisor, quotient, rest);
    quotient <<= 1;
    if (!rest.is_zero()) quotient |= 1;
    out = BigFloat::make(negative, quotient, exponent - static_cast<std::int64_t>(shift) - 1);
  }
  out.round(Number::literal_precision);
  return out;
}

std::optional<std::int64_t> small(const BigFloat& value) {
  if (value.infinite || value.exponent < 0 || magnitude(value) > 64) return std::nullopt;
  if (value.negative && value.mantissa.is_zero()) return std::nullopt;  // minus zero keeps its sign
  const Integer whole = value.whole_part();
  const Integer limit
      = Integer{std::numeric_limits<std::int64_t>::max()} + (value.negative ? 1 : 0);
  if (whole > limit) return std::nullopt;
  const auto magnitude = static_cast<std::uint64_t>(whole);
  return static_cast<std::int64_t>(value.negative ? 0 - magnitude : magnitude);
}

}  // namespace

unsigned BigFloat::bits() const {
  return mantissa.is_zero() ? 0 : msb(mantissa) + 1;
}

BigFloat::Integer BigFloat::whole_part() const {
  if (exponent >= 0) return mantissa << static_cast<unsigned>(exponent);
  return -exponent >= static_cast<std::int64_t>(bits())
             ? Integer{0}
             : mantissa >> static_cast<unsigned>(-exponent);
}

void BigFloat::normalize() {
  if (mantissa.is_zero()) {
    exponent = 0;
    return;
  }
  const unsigned zeros = lsb(mantissa);
  mantissa >>= zeros;
  exponent += zeros;
}

void BigFloat::round(unsigned precision) {
  const unsigned have = bits();
  if (have <= precision) return;
  const unsigned drop = have - precision;
  const bool half = bit_test(mantissa, drop - 1);
  const bool sticky = lsb(mantissa) < drop - 1;
  mantissa >>= drop;
  exponent += drop;
  if (half && (sticky || bit_test(mantissa, 0))) ++mantissa;
  normalize();
}

BigFloat BigFloat::make(bool negative, Integer mantissa, std::int64_t exponent) {
  BigFloat out{negative, false, std::move(mantissa), exponent};
  out.normalize();
  return out;
}

std::strong_ordering BigFloat::compare(const BigFloat& a, const BigFloat& b) {
  const auto sign = [](const BigFloat& x) { return x.is_zero() ? 0 : x.negative ? -1 : 1; };
  if (sign(a) != sign(b)) return sign(a) <=> sign(b);
  if (sign(a) == 0) return std::strong_ordering::equal;
  std::strong_ordering order = std::strong_ordering::equal;
  if (a.infinite || b.infinite) {
    order = static_cast<int>(a.infinite) <=> static_cast<int>(b.infinite);
  } else if (magnitude(a) != magnitude(b)) {
    order = magnitude(a) <=> magnitude(b);
  } else {
    const std::int64_t base = std::min(a.exponent, b.exponent);
    const Integer left = a.mantissa << static_cast<unsigned>(a.exponent - base);
    const Integer right = b.mantissa << static_cast<unsigned>(b.exponent - base);
    order = left.compare(right) <=> 0;
  }
  return a.negative ? 0 <=> order : order;
}

Number::Number(BigFloat value, std::uint16_t precision) : precision_{precision} {
  if (const auto whole = small(value)) {
    whole_ = *whole;
    return;
  }
  if (!value.infinite && magnitude(value) > max_binary_exponent)
    value = {value.negative, true, 0, 0};
  else if (!value.infinite && !value.mantissa.is_zero() && magnitude(value) < -max_binary_exponent)
    value = {value.negative, false, 0, 0};
  if (!value.infinite && !value.negative && value.mantissa.is_zero()) return;
  big_ = std::make_shared<const BigFloat>(std::move(value));
}

BigFloat Number::big() const {
  if (big_ != nullptr) return *big_;
  const bool negative = whole_ < 0;
  const auto magnitude
      = negative ? 0 - static_cast<std::uint64_t>(whole_) : static_cast<std::uint64_t>(whole_);
  return BigFloat::make(negative, Integer{magnitude}, 0);
}

std::optional<Number> Number::parse(std::string_view text) {
  constexpr std::size_t surely_small = 18;
  if (!text.empty() && text.size() <= surely_small
      && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    Number out;
    for (const char c : text)
      out.whole_ = out.whole_ * 10 + (c - '0');
    out.precision_ = literal_precision;
    return out;
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "inf" || text == "Inf") return infinity(negative);
  const auto scanned = scan(text);
  if (!scanned) return std::nullopt;
  auto value = to_float(*scanned, negative);
  if (!value) return std::nullopt;
  return Number{std::move(*value), literal_precision};
}

std::optional<Number> Number::parse_integer(std::string_view text, int base) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > max_digits) return std::nullopt;
  Integer value{0};
  for (const char c : text) {
    int digit = 99;
    if (is_digit(c))
      digit = c - '0';
    else if (c >= 'a' && c <= 'z')
      digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'Z')
      digit = c - 'A' + (base > 36 ? 36 : 10);
    if (digit >= base) return std::nullopt;
    value *= base;
    value += digit;
  }
  BigFloat number = BigFloat::make(negative && !value.is_zero(), value, 0);
  const auto precision
      = static_cast<std::uint16_t>(std::min(std::max(64U, number.bits()), 16'384U));
  return Number{std::move(number), precision};
}

Number Number::from_double(double value) {
  constexpr std::uint16_t double_precision = 53;
  if (std::isinf(value)) return infinity(value < 0);
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, double_precision));
  return {BigFloat::make(std::signbit(value), Integer{mantissa}, exponent - double_precision),
          double_precision};
}

Number Number::infinity(bool negative) {
  return {BigFloat{negative, true, 0, 0}, literal_precision};
}

bool Number::is_whole() const {
  return big_ == nullptr || big_->is_whole();
}

bool Number::is_infinite() const {
  return big_ != nullptr && big_->infinite;
}

bool Number::is_negative() const {
  return big_ != nullptr ? big_->negative : whole_ < 0;
}

bool Number::is_zero() const {
  return big_ != nullptr ? big_->is_zero() : whole_ == 0;
}

std::optional<std::int64_t> Number::to_int64() const {
  if (big_ == nullptr) return whole_;
  return big_->is_zero() ? std::optional<std::int64_t>{0} : std::nullopt;
}

std::optional<std::uint64_t> Number::to_uint64() const {
  if (big_ == nullptr)
    return whole_ < 0 ? std::nullopt : std::optional{static_cast<std::uint64_t>(whole_)};
  if (big_->is_zero()) return 0;
  if (!big_->is_whole() || big_->negative || magnitude(*big_) > 64) return std::nullopt;
  return static_cast<std::uint64_t>(big_->whole_part());
}

double Number::to_double() const {
  if (big_ == nullptr) return static_cast<double>(whole_);
  if (big_->infinite)
    return big_->negative ? -std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::infinity();
  BigFloat rounded = *big_;
  constexpr std::int64_t lowest = -1074;  // the last bit of a subnormal
  const std::int64_t top = magnitude(rounded);
  const std::int64_t keep = std::min<std::int64_t>(53, top - lowest);
  if (keep <= 0 && !(keep == 0 && rounded.bits() > 1)) return rounded.negative ? -0.0 : 0.0;
  rounded.round(static_cast<unsigned>(std::max<std::int64_t>(keep, 1)));
  const double value = std::ldexp(static_cast<double>(static_cast<std::uint64_t>(rounded.mantissa)),
                                  static_cast<int>(rounded.exponent));
  return rounded.negative ? -value : value;
}

Number Number::operator-() const {
  if (big_ == nullptr && whole_ != std::numeric_limits<std::int64_t>::min() && whole_ != 0) {
    Number out = *this;
    out.whole_ = -whole_;
    return out;
  }
  BigFloat value = big();
  value.negative = !value.negative;
  return {std::move(value), precision_};
}

std::optional<Number> Number::add(const Number& a, const Number& b) {
  const std::uint16_t precision = wider(a, b);
  if (std::int64_t total = 0; a.big_ == nullptr && b.big_ == nullptr
                              && !__builtin_add_overflow(a.whole_, b.whole_, &total)) {
    Number out{total};
    out.precision_ = precision;
    return out;
  }
  if (a.is_infinite() && b.is_infinite() && a.is_negative() != b.is_negative()) return std::nullopt;
  if (a.is_infinite()) return a;
  if (b.is_infinite()) return b;
  BigFloat value = sum(a.big(), b.big());
  value.round(precision);
  return Number{std::move(value), precision};
}

std::optional<Number> Number::subtract(const Number& a, const Number& b) {
  return add(a, -b);
}

std::optional<Number> Number::multiply(const Number& a, const Number& b) {
  const bool infinite = a.is_infinite() || b.is_infinite();
  if (infinite && (a.is_zero() || b.is_zero())) return std::nullopt;
  const bool negative = a.is_negative() != b.is_negative();
  if (infinite) return infinity(negative);
  const BigFloat left = a.big();
  const BigFloat right = b.big();
  BigFloat value
      = BigFloat::make(negative, left.mantissa * right.mantissa, left.exponent + right.exponent);
  value.round(literal_precision);
  const auto precision = static_cast<std::uint16_t>(std::max<unsigned>(wider(a, b), value.bits()));
  return Number{std::move(value), precision};
}

std::optional<Number> Number::divide(const Number& a, const Number& b) {
  if ((a.is_zero() && b.is_zero()) || (a.is_infinite() && b.is_infinite())) return std::nullopt;
  const bool negative = a.is_negative() != b.is_negative();
  if (a.is_infinite() || b.is_zero()) return infinity(negative);
  const std::uint16_t precision = wider(a, b);
  if (a.is_zero() || b.is_infinite()) return Number{BigFloat{negative, false, 0, 0}, precision};
  const BigFloat left = a.big();
  const BigFloat right = b.big();
  const unsigned shift = precision + 2 + right.bits();
  Integer quotient;
  Integer rest;
  divide_qr(Integer{left.mantissa << shift}, right.mantissa, quotient, rest);
  quotient <<= 1;
  if (!rest.is_zero()) quotient |= 1;
  BigFloat value
      = BigFloat::make(negative, std::move(quotient),
                       left.exponent - right.exponent - static_cast<std::int64_t>(shift) - 1);
  value.round(precision);
  return Number{std::move(value), precision};
}

std::optional<Number> Number::modulo(const Number& a, const Number& b) {
  if (a.is_infinite() || b.is_infinite()) return multiply(a, b);
  if (b.is_zero()) return a;
  const auto quotient = divide(a, b);
  BigFloat whole = quotient->big();
  whole = BigFloat::make(whole.negative, whole.whole_part(), 0);
  whole.round(a.precision_);
  BigFloat product
      = BigFloat::make(whole.negative != b.is_negative(), whole.mantissa * b.big().mantissa,
                       whole.exponent + b.big().exponent);
  product.round(a.precision_);
  product.negative = !product.negative;
  BigFloat value = sum(a.big(), product);
  value.round(a.precision_);
  return Number{std::move(value), a.precision_};
}

Number Number::truncated() const {
  if (is_whole() || is_infinite()) return *this;
  BigFloat value = BigFloat::make(big_->negative, big_->whole_part(), 0);
  if (value.mantissa.is_zero()) value.negative = false;
  return {std::move(value), precision_};
}

Number Number::floor() const {
  const Number down = truncated();
  return is_negative() && !is_whole() && !is_infinite() ? *add(down, Number{-1}) : down;
}

Number Number::ceil() const {
  const Number down = truncated();
  return !is_negative() && !is_whole() && !is_infinite() ? *add(down, Number{1}) : down;
}

std::strong_ordering operator<=>(const Number& a, const Number& b) {
  if (a.big_ == nullptr && b.big_ == nullptr) return a.whole_ <=> b.whole_;
  return BigFloat::compare(a.big(), b.big());
}

}  // namespace nomad::hcl
