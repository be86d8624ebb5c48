// Number: HCL's arbitrary-precision number, a binary floating-point value with up to 512 bits of
// mantissa, or an infinity.
//
// Whole numbers of 64 bits, nearly all there are, live in the object itself; the others are shared
// and immutable. Each number carries the precision that its operations round to, because the
// language's results show it: a literal has 512 bits, the result of `length` 64. Exponents are
// bounded, so that no text of a few bytes can ask for megabytes of digits.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace nomad::hcl {

struct BigFloat;

class Number {
public:
  static constexpr std::uint16_t literal_precision = 512;

  Number() = default;

  /// A whole number of 64 bits' precision.
  Number(std::int64_t whole) : whole_{whole} {}  // NOLINT: a number is what it converts from

  /// Takes the value as it is, within the exponent's bounds; beyond them it is zero or infinite.
  Number(BigFloat value, std::uint16_t precision);

  /// Decimal digits, optional fraction and exponent, optional sign, or "inf"; 512 bits of
  /// precision. Nothing for any other text, and for exponents beyond what a job file can mean.
  static std::optional<Number> parse(std::string_view text);

  /// Digits in base 2 to 62 with an optional sign, as `parseint` reads them: above base 36 small
  /// letters come before capital ones.
  static std::optional<Number> parse_integer(std::string_view text, int base);
  static Number from_double(double value);
  static Number infinity(bool negative);

  bool is_whole() const;
  bool is_infinite() const;
  bool is_negative() const;
  bool is_zero() const;

  /// Bits of mantissa that operations with this number keep.
  std::uint16_t precision() const noexcept { return precision_; }

  /// The value when it is whole and within 64 bits.
  std::optional<std::int64_t> to_int64() const;
  std::optional<std::uint64_t> to_uint64() const;
  /// The nearest double.
  double to_double() const;
  /// Shortest plain decimal that reads back as the same number: "1000000", "0.1", "+Inf".
  std::string to_string() const;

  Number operator-() const;

  Number absolute() const { return is_negative() ? -*this : *this; }

  /// Nothing where the result has no value (∞ − ∞, 0 × ∞, 0 ÷ 0).
  static std::optional<Number> add(const Number& a, const Number& b);
  static std::optional<Number> subtract(const Number& a, const Number& b);
  static std::optional<Number> multiply(const Number& a, const Number& b);
  static std::optional<Number> divide(const Number& a, const Number& b);
  /// The remainder of the division towards zero; of an infinity the product, by zero `a`.
  static std::optional<Number> modulo(const Number& a, const Number& b);

  /// Towards zero, down, up. An infinity stays.
  Number truncated() const;
  Number floor() const;
  Number ceil() const;

  friend std::strong_ordering operator<=>(const Number& a, const Number& b);

  friend bool operator==(const Number& a, const Number& b) { return (a <=> b) == 0; }

  /// Digits of the whole part in base 2, 8, 10 or 16, with "-" when negative.
  std::string integer_digits(int base) const;
  /// C's %e, %f, %g of the exact value with `precision` digits; -1 is the shortest form.
  std::string format(char verb, int precision) const;

private:
  BigFloat big() const;

  std::int64_t whole_ = 0;
  std::shared_ptr<const BigFloat> big_;  // null: the value is `whole_`
  std::uint16_t precision_ = 64;
};

}  // namespace nomad::hcl
