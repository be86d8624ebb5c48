// Arithmetic on any numbers: add, subtract, multiply, divide, modulo, minimum, maximum. The last
// argument is the first operand: {{ 5 | subtract 2 }} is 3. The result is a float64 if one of the
// operands is, a uint64 if both are unsigned, an int64 otherwise.
#include <cstdint>
#include <limits>

#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates::math_family {
namespace {

bool is_numeric(const Value& value) {
  return value.kind() == Kind::integer || value.kind() == Kind::natural
         || value.kind() == Kind::number;
}

double as_double(const Value& value) {
  if (value.kind() == Kind::integer) return static_cast<double>(value.as_integer());
  if (value.kind() == Kind::natural) return static_cast<double>(value.as_natural());
  return value.as_number();
}

/// Its bits as a whole number.
std::uint64_t bits_of(const Value& value) {
  return value.kind() == Kind::integer ? static_cast<std::uint64_t>(value.as_integer())
                                       : value.as_natural();
}

std::int64_t as_signed(const Value& value) {
  return static_cast<std::int64_t>(bits_of(value));
}

/// `add: unknown type for "x" (string)`
Error unknown_type(std::string_view name, const Value& value) {
  const std::string shown = value.is_invalid() ? "<invalid reflect.Value>" : shown_quoted(value);
  return function_error(std::string{name} + ": unknown type for " + shown + " ("
                        + std::string{type_name(value)} + ')');
}

Result<void> check(std::string_view name, const Value& a, const Value& b, bool whole) {
  const auto fits = [whole](const Value& value) {
    return is_numeric(value) && !(whole && value.kind() == Kind::number);
  };
  if (!fits(a)) return unknown_type(name, a);
  if (!fits(b)) return unknown_type(name, b);
  return {};
}

enum class Operation : std::uint8_t { add, subtract, multiply, divide };

Value of_doubles(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::add:
      return Value::number(a + b);
    case Operation::subtract:
      return Value::number(a - b);
    case Operation::multiply:
      return Value::number(a * b);
    case Operation::divide:
      break;
  }
  return Value::number(a / b);
}

/// Whole numbers wrap around as Go's do.
std::uint64_t of_bits(Operation operation, std::uint64_t a, std::uint64_t b) {
  if (operation == Operation::add) return a + b;
  return operation == Operation::subtract ? a - b : a * b;
}

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a / b;
}

constexpr std::string_view name_of(Operation operation) {
  constexpr std::string_view names[] = {"add", "subtract", "multiply", "divide"};
  return names[static_cast<std::size_t>(operation)];
}

template <Operation operation>
Result<Value> compute(const Value& b, const Value& a) {
  NOMAD_TRY(check(name_of(operation), a, b, false));
  if (a.kind() == Kind::number || b.kind() == Kind::number)
    return of_doubles(operation, as_double(a), as_double(b));
  const bool is_unsigned = a.kind() == Kind::natural && b.kind() == Kind::natural;
  if (operation == Operation::divide) {
    if (bits_of(b) == 0) return divided_by_zero();
    if (is_unsigned) return Value::natural(bits_of(a) / bits_of(b));
    return Value::integer(quotient(as_signed(a), as_signed(b)), types::int64);
  }
  const std::uint64_t bits = of_bits(operation, bits_of(a), bits_of(b));
  if (is_unsigned) return Value::natural(bits);
  return Value::integer(static_cast<std::int64_t>(bits), types::int64);
}

Result<Value> modulo(const Value& b, const Value& a) {
  NOMAD_TRY(check("modulo", a, b, true));
  if (bits_of(b) == 0) return divided_by_zero();
  if (a.kind() == Kind::natural && b.kind() == Kind::natural)
    return Value::natural(bits_of(a) % bits_of(b));
  const std::int64_t divisor = as_signed(b);
  return Value::integer(divisor == -1 ? 0 : as_signed(a) % divisor, types::int64);
}

bool is_below(const Value& a, const Value& b) {
  if (a.kind() == Kind::number || b.kind() == Kind::number) return as_double(a) < as_double(b);
  if (a.kind() == Kind::natural && b.kind() == Kind::natural) return bits_of(a) < bits_of(b);
  return as_signed(a) < as_signed(b);
}

/// Without the narrower types.
Value widened(const Value& value) {
  if (value.kind() == Kind::integer) return Value::integer(value.as_integer(), types::int64);
  if (value.kind() == Kind::natural) return Value::natural(value.as_natural());
  return value;
}

Result<Value> minimum(const Value& b, const Value& a) {
  NOMAD_TRY(check("minimum", a, b, false));
  return widened(is_below(a, b) ? a : b);
}

Result<Value> maximum(const Value& b, const Value& a) {
  NOMAD_TRY(check("maximum", a, b, false));
  return widened(is_below(b, a) ? a : b);
}

}  // namespace

std::span<const Function> functions() {
  using enum Operation;
  static const Function table[] = {
      bind<compute<add>>("add"),
      bind<compute<subtract>>("subtract"),
      bind<compute<multiply>>("multiply"),
      bind<compute<divide>>("divide"),
      bind<modulo>("modulo"),
      bind<minimum>("minimum"),
      bind<maximum>("maximum"),
  };
  return table;
}

}  // namespace nomad::templates::math_family
