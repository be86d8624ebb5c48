// Number functions.
#include <cmath>
#include <limits>

#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

FunctionResult abs(Args args) {
  return Value::number(args[0].as_number().absolute());
}

FunctionResult ceil(Args args) {
  return Value::number(args[0].as_number().ceil());
}

FunctionResult floor(Args args) {
  return Value::number(args[0].as_number().floor());
}

FunctionResult extreme(Args args, bool greatest) {
  if (args.empty()) return fail("must pass at least one number");
  const Value* best = &args[0];
  for (const Value& arg : args)
    if (greatest ? arg.as_number() > best->as_number() : arg.as_number() < best->as_number())
      best = &arg;
  return *best;
}

FunctionResult max(Args args) {
  return extreme(args, true);
}

FunctionResult min(Args args) {
  return extreme(args, false);
}

Outcome<double> to_double(const Value& value) {
  const Number& number = value.as_number();
  const double out = number.to_double();
  if (std::isinf(out) && !number.is_infinite()) {
    const std::string limit
        = Number::from_double(std::numeric_limits<double>::max()).integer_digits(10) + ".000000";
    return fail("value must be between -" + limit + " and " + limit + " inclusive");
  }
  return out;
}

template <class Compute>
FunctionResult real(Args args, Compute&& compute) {
  const double a = NOMAD_TRY(to_double(args[0]));
  const double b = NOMAD_TRY(to_double(args[1]));
  const double out = compute(a, b);
  if (std::isnan(out)) return fail("the result is not a number");
  return Value::number(Number::from_double(out));
}

FunctionResult log(Args args) {
  return real(args, [](double number, double base) { return std::log(number) / std::log(base); });
}

FunctionResult pow(Args args) {
  return real(args, [](double number, double power) { return std::pow(number, power); });
}

FunctionResult signum(Args args) {
  const std::int64_t value = NOMAD_TRY(to_int(args[0]));
  return Value::number(static_cast<std::int64_t>(value > 0) - static_cast<std::int64_t>(value < 0));
}

FunctionResult parseint(Args args) {
  if (!args[0].is_string())
    return fail_at(0, "first argument must be a string, not " + args[0].type().friendly_name());
  const std::int64_t radix = NOMAD_TRY(to_int(args[1], 1));
  if (radix < 2 || radix > 62)
    return fail_at(1, "base must be a whole number between 2 and 62 inclusive");
  auto number = Number::parse_integer(args[0].as_string(), static_cast<int>(radix));
  if (!number)
    return fail_at(0, "cannot parse " + quote(args[0].as_string()) + " as a base "
                          + std::to_string(radix) + " integer");
  return Value::number(std::move(*number));
}

}  // namespace

void add_number_functions(std::vector<Function>& out) {
  const Type number = Type::number();
  out.push_back({"abs", {{"num", number}}, std::nullopt, abs});
  out.push_back({"ceil", {{"num", number}}, std::nullopt, ceil});
  out.push_back({"floor", {{"num", number}}, std::nullopt, floor});
  out.push_back({"max", {}, Parameter{"numbers", number}, max});
  out.push_back({"min", {}, Parameter{"numbers", number}, min});
  out.push_back({"log", {{"num", number}, {"base", number}}, std::nullopt, log});
  out.push_back({"pow", {{"num", number}, {"power", number}}, std::nullopt, pow});
  out.push_back({"signum", {{"num", number}}, std::nullopt, signum});
  out.push_back(
      {"parseint", {{"number", Type::dynamic()}, {"base", number}}, std::nullopt, parseint});
}

}  // namespace nomad::hcl
