// sprig: numbers. Whole numbers are int64 and wrap around as Go's do.
#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/sprig.hpp"
#include "runtime/template/value/number_text.hpp"

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

Result<Value> add(Call& call) {
  std::int64_t sum = 0;
  for (const Value& argument : call.arguments)
    sum = wrapping(sum, integer_of(argument), std::plus<>{});
  return int64_value(sum);
}

Result<Value> add_one(Call& call) {
  return int64_value(wrapping(integer_of(call[0]), 1, std::plus<>{}));
}

Result<Value> subtract(Call& call) {
  return int64_value(wrapping(integer_of(call[0]), integer_of(call[1]), std::minus<>{}));
}

Result<Value> multiply(Call& call) {
  std::int64_t product = integer_of(call[0]);
  for (const Value& argument : call.arguments.subspan(1))
    product = wrapping(product, integer_of(argument), std::multiplies<>{});
  return int64_value(product);
}

Result<Value> divide(Call& call) {
  const std::int64_t a = integer_of(call[0]);
  const std::int64_t b = integer_of(call[1]);
  if (b == 0) return function_error("runtime error: integer divide by zero");
  return int64_value(b == -1 ? wrapping(0, a, std::minus<>{}) : a / b);
}

Result<Value> modulo(Call& call) {
  const std::int64_t b = integer_of(call[1]);
  if (b == 0) return function_error("runtime error: integer divide by zero");
  return int64_value(b == -1 ? 0 : integer_of(call[0]) % b);
}

Result<Value> largest(Call& call) {
  std::int64_t out = integer_of(call[0]);
  for (const Value& argument : call.arguments)
    out = std::max(out, integer_of(argument));
  return int64_value(out);
}

Result<Value> smallest(Call& call) {
  std::int64_t out = integer_of(call[0]);
  for (const Value& argument : call.arguments)
    out = std::min(out, integer_of(argument));
  return int64_value(out);
}

/// Go's math.Max and math.Min: NaN wins.
Result<Value> extreme_number(Call& call, bool largest) {
  double out = number_of(call[0]);
  for (const Value& argument : call.arguments) {
    const double next = number_of(argument);
    if (std::isnan(next) || (largest ? next > out : next < out)) out = next;
  }
  return Value::number(out);
}

Result<Value> largest_number(Call& call) {
  return extreme_number(call, true);
}

Result<Value> smallest_number(Call& call) {
  return extreme_number(call, false);
}

Result<Value> floor_number(Call& call) {
  return Value::number(std::floor(number_of(call[0])));
}

Result<Value> ceil_number(Call& call) {
  return Value::number(std::ceil(number_of(call[0])));
}

Result<Value> round_number(Call& call) {
  const double round_on = call.size() > 2 ? call[2].as_number() : .5;
  const double power = std::pow(10, static_cast<double>(call.integer(1)));
  const double digits = power * number_of(call[0]);
  double whole = 0;
  const bool up = std::modf(digits, &whole) >= round_on;
  return Value::number((up ? std::ceil(digits) : std::floor(digits)) / power);
}

// Decimal arithmetic is done in long double: exact for what prices and percentages need.

template <class Operation>
Value of_decimals(double first, std::span<const Value> others, Operation operation) {
  long double out = first;
  for (const Value& other : others)
    out = operation(out, static_cast<long double>(number_of(other)));
  // What has no more than 15 digits is that number, and not the nearest to a sum of doubles.
  const double nearest = static_cast<double>(out);
  const auto short_form = parse_number(format_number(nearest, 'e', 14));
  const long double distance = std::fabs(static_cast<long double>(short_form.value) - out);
  const bool is_close = distance <= std::fabs(out) * 4e-16L;
  return Value::number(is_close && std::isfinite(nearest) ? short_form.value : nearest);
}

Result<Value> add_numbers(Call& call) {
  return of_decimals(0, call.arguments, std::plus<>{});
}

Result<Value> add_one_number(Call& call) {
  const Value one[] = {Value::integer(1)};
  return of_decimals(number_of(call[0]), one, std::plus<>{});
}

Result<Value> subtract_numbers(Call& call) {
  return of_decimals(number_of(call[0]), call.arguments.subspan(1), std::minus<>{});
}

Result<Value> multiply_numbers(Call& call) {
  return of_decimals(number_of(call[0]), call.arguments.subspan(1), std::multiplies<>{});
}

Result<Value> divide_numbers(Call& call) {
  for (const Value& divisor : call.arguments.subspan(1))
    if (number_of(divisor) == 0) return function_error("decimal division by 0");
  return of_decimals(number_of(call[0]), call.arguments.subspan(1), std::divides<>{});
}

Result<Value> to_int(Call& call) {
  return Value::integer(integer_of(call[0]));
}

Result<Value> to_int64(Call& call) {
  return int64_value(integer_of(call[0]));
}

Result<Value> to_float(Call& call) {
  return Value::number(number_of(call[0]));
}

Result<Value> to_decimal(Call& call) {
  const auto found = parse_integer(NOMAD_TRY(text_of(call.context, call[0])), 8);
  return int64_value(found.fault ? 0 : found.value);
}

/// `start`, `start + step`… up to `stop`, which is left out.
Result<std::vector<std::int64_t>> steps(Call& call,
                                        std::int64_t start,
                                        std::int64_t stop,
                                        std::int64_t step) {
  std::vector<std::int64_t> out;
  const bool down = stop < start;
  if (down ? step >= 0 : step <= 0) return out;
  for (std::int64_t i = start; down ? i > stop : i < stop; i += step) {
    NOMAD_TRY(call.context.step());
    out.push_back(i);
    if (down ? i < stop - step : i > stop - step) break;  // The next one may not be a number.
  }
  return out;
}

Value integers(const std::vector<std::int64_t>& numbers) {
  std::vector<Value> out;
  for (const std::int64_t number : numbers)
    out.push_back(Value::integer(number));
  return Value::list(std::move(out), types::integer_list);
}

Result<Value> until(Call& call) {
  const std::int64_t count = call.integer(0);
  return integers(NOMAD_TRY(steps(call, 0, count, count < 0 ? -1 : 1)));
}

Result<Value> until_step(Call& call) {
  return integers(NOMAD_TRY(steps(call, call.integer(0), call.integer(1), call.integer(2))));
}

Result<Value> sequence(Call& call) {
  if (call.size() == 0 || call.size() > 3) return Value::text("");
  const std::int64_t start = call.size() == 1 ? 1 : call.integer(0);
  const std::int64_t end = call.integer(call.size() - 1);
  const std::int64_t direction = end < start ? -1 : 1;
  const std::int64_t step = call.size() == 3 ? call.integer(1) : direction;
  if (call.size() == 3 && direction < 0 && step > 0) return Value::text("");
  const auto numbers = NOMAD_TRY(steps(call, start, wrapping(end, direction, std::plus<>{}), step));
  std::string out;
  for (const std::int64_t number : numbers)
    out += (out.empty() ? "" : " ") + std::to_string(number);
  return made_text(call.context, std::move(out));
}

}  // namespace

std::span<const Function> functions() {
  static const std::vector<const Type*> any{&types::any};
  static const std::vector<const Type*> two{&types::any, &types::any};
  static const std::vector<const Type*> integer{&types::integer};
  static const Function table[] = {
      {"sprig_add", any, true, add},
      {"sprig_add1", any, false, add_one},
      {"sprig_sub", two, false, subtract},
      {"sprig_mul", two, true, multiply},
      {"sprig_div", two, false, divide},
      {"sprig_mod", two, false, modulo},
      {"sprig_max", two, true, largest},
      {"sprig_biggest", two, true, largest},
      {"sprig_min", two, true, smallest},
      {"sprig_maxf", two, true, largest_number},
      {"sprig_minf", two, true, smallest_number},
      {"sprig_addf", any, true, add_numbers},
      {"sprig_add1f", any, false, add_one_number},
      {"sprig_subf", two, true, subtract_numbers},
      {"sprig_mulf", two, true, multiply_numbers},
      {"sprig_divf", two, true, divide_numbers},
      {"sprig_floor", any, false, floor_number},
      {"sprig_ceil", any, false, ceil_number},
      {"sprig_round", {&types::any, &types::integer, &types::number}, true, round_number},
      {"sprig_int", any, false, to_int},
      {"sprig_int64", any, false, to_int64},
      {"sprig_float64", any, false, to_float},
      {"sprig_toDecimal", any, false, to_decimal},
      {"sprig_until", integer, false, until},
      {"sprig_untilStep", {&types::integer, &types::integer, &types::integer}, false, until_step},
      {"sprig_seq", integer, true, sequence},
  };
  return table;
}

}  // namespace nomad::templates::sprig_number_family
