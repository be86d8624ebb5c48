// sprig: numbers. Whole numbers are int64 and wrap around as Go's do.
#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/shared.hpp"

namespace nomad::templates::sprig_number_family {
namespace {

Value int64_value(std::int64_t value) {
  return Value::integer(value, types::int64);
}

/// A sum, difference or product that wraps around.
template <class Operation>
std::int64_t wrapping(std::int64_t a, std::int64_t b, Operation operation) {
  return static_cast<std::int64_t>(
      operation(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

/// All the numbers, one after the other.
template <class Operation>
Value of_integers(std::int64_t first, std::span<const Value> others, Operation operation) {
  for (const Value& other : others)
    first = operation(first, integer_of(other));
  return int64_value(first);
}

Value add(Rest<> numbers) {
  return of_integers(0, numbers, [](auto a, auto b) { return wrapping(a, b, std::plus<>{}); });
}

Value add_one(const Value& number) {
  return int64_value(wrapping(integer_of(number), 1, std::plus<>{}));
}

Value subtract(const Value& a, const Value& b) {
  return int64_value(wrapping(integer_of(a), integer_of(b), std::minus<>{}));
}

Value multiply(const Value& first, Rest<> others) {
  return of_integers(integer_of(first), others,
                     [](auto a, auto b) { return wrapping(a, b, std::multiplies<>{}); });
}

Result<Value> divide(const Value& dividend, const Value& divisor) {
  const std::int64_t a = integer_of(dividend);
  const std::int64_t b = integer_of(divisor);
  if (b == 0) return divided_by_zero();
  return int64_value(b == -1 ? wrapping(0, a, std::minus<>{}) : a / b);
}

Result<Value> modulo(const Value& dividend, const Value& divisor) {
  const std::int64_t b = integer_of(divisor);
  if (b == 0) return divided_by_zero();
  return int64_value(b == -1 ? 0 : integer_of(dividend) % b);
}

Value largest(const Value& first, Rest<> others) {
  return of_integers(integer_of(first), others, [](auto a, auto b) { return std::max(a, b); });
}

Value smallest(const Value& first, Rest<> others) {
  return of_integers(integer_of(first), others, [](auto a, auto b) { return std::min(a, b); });
}

/// Go's math.Max and math.Min: NaN wins.
template <bool largest>
double extreme_number(const Value& first, Rest<> others) {
  double out = number_of(first);
  for (const Value& other : others) {
    const double next = number_of(other);
    if (std::isnan(next) || (largest ? next > out : next < out)) out = next;
  }
  return out;
}

double floor_number(const Value& number) {
  return std::floor(number_of(number));
}

double ceil_number(const Value& number) {
  return std::ceil(number_of(number));
}

double round_number(const Value& number, std::int64_t positions, Rest<types::number> given) {
  const double round_on = given.empty() ? .5 : given[0].as_number();
  const double power = std::pow(10, static_cast<double>(positions));
  const double digits = power * number_of(number);
  double whole = 0;
  const bool up = std::modf(digits, &whole) >= round_on;
  return (up ? std::ceil(digits) : std::floor(digits)) / power;
}

// Decimal arithmetic is done in long double: exact for what prices and percentages need.

template <class Operation>
double of_decimals(double first, std::span<const Value> others, Operation operation) {
  long double out = first;
  for (const Value& other : others)
    out = operation(out, static_cast<long double>(number_of(other)));
  // What has no more than 15 digits is that number, and not the nearest to a sum of doubles.
  const double nearest = static_cast<double>(out);
  const auto short_form = parse_number(format_number(nearest, 'e', 14));
  const long double distance = std::fabs(static_cast<long double>(short_form.value) - out);
  const bool is_close = distance <= std::fabs(out) * 4e-16L;
  return is_close && std::isfinite(nearest) ? short_form.value : nearest;
}

template <class Operation>
double of_numbers(const Value& first, Rest<> others) {
  return of_decimals(number_of(first), others, Operation{});
}

double add_numbers(Rest<> numbers) {
  return of_decimals(0, numbers, std::plus<>{});
}

double add_one_number(const Value& number) {
  const Value one[] = {Value::integer(1)};
  return of_decimals(number_of(number), one, std::plus<>{});
}

Result<double> divide_numbers(const Value& first, Rest<> divisors) {
  for (const Value& divisor : divisors)
    if (number_of(divisor) == 0) return function_error("decimal division by 0");
  return of_numbers<std::divides<>>(first, divisors);
}

Value to_int64(const Value& value) {
  return int64_value(integer_of(value));
}

Result<Value> to_decimal(Context& context, const Value& value) {
  const auto found = parse_integer(NOMAD_TRY(text_of(context, value)), 8);
  return int64_value(found.fault ? 0 : found.value);
}

/// `start`, `start + step`… up to `stop`, which is left out.
Result<std::vector<std::int64_t>> steps(Context& context,
                                        std::int64_t start,
                                        std::int64_t stop,
                                        std::int64_t step) {
  std::vector<std::int64_t> out;
  const bool down = stop < start;
  if (down ? step >= 0 : step <= 0) return out;
  for (std::int64_t i = start; down ? i > stop : i < stop; i += step) {
    NOMAD_TRY(context.step());
    out.push_back(i);
    if (down ? i < stop - step : i > stop - step) break;  // The next one may not be a number.
  }
  return out;
}

Result<Value> until_step(Context& context,
                         std::int64_t start,
                         std::int64_t stop,
                         std::int64_t step) {
  std::vector<Value> out;
  for (const std::int64_t number : NOMAD_TRY(steps(context, start, stop, step)))
    out.push_back(Value::integer(number));
  return Value::list(std::move(out), types::integer_list);
}

Result<Value> until(Context& context, std::int64_t count) {
  return until_step(context, 0, count, count < 0 ? -1 : 1);
}

Result<std::string> sequence(Context& context, Rest<types::integer> given) {
  if (given.empty() || given.size() > 3) return "";
  const std::int64_t start = given.size() == 1 ? 1 : given[0].as_integer();
  const std::int64_t end = given.back().as_integer();
  const std::int64_t direction = end < start ? -1 : 1;
  const std::int64_t step = given.size() == 3 ? given[1].as_integer() : direction;
  if (given.size() == 3 && direction < 0 && step > 0) return "";
  const auto numbers
      = NOMAD_TRY(steps(context, start, wrapping(end, direction, std::plus<>{}), step));
  std::string out;
  for (const std::int64_t number : numbers)
    out += (out.empty() ? "" : " ") + std::to_string(number);
  return out;
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<add>("sprig_add"),
      bind<add_one>("sprig_add1"),
      bind<subtract>("sprig_sub"),
      bind<multiply>("sprig_mul"),
      bind<divide>("sprig_div"),
      bind<modulo>("sprig_mod"),
      bind<largest>("sprig_max"),
      bind<largest>("sprig_biggest"),
      bind<smallest>("sprig_min"),
      bind<extreme_number<true>>("sprig_maxf"),
      bind<extreme_number<false>>("sprig_minf"),
      bind<add_numbers>("sprig_addf"),
      bind<add_one_number>("sprig_add1f"),
      bind<of_numbers<std::minus<>>>("sprig_subf"),
      bind<of_numbers<std::multiplies<>>>("sprig_mulf"),
      bind<divide_numbers>("sprig_divf"),
      bind<floor_number>("sprig_floor"),
      bind<ceil_number>("sprig_ceil"),
      bind<round_number>("sprig_round"),
      bind<integer_of>("sprig_int"),
      bind<to_int64>("sprig_int64"),
      bind<number_of>("sprig_float64"),
      bind<to_decimal>("sprig_toDecimal"),
      bind<until>("sprig_until"),
      bind<until_step>("sprig_untilStep"),
      bind<sequence>("sprig_seq"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_number_family
