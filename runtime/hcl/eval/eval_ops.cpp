// Operators.
#include "runtime/hcl/eval/evaluator.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* operation_failed = "Operation failed";
constexpr const char* null_operand = "Error during operation: argument must not be null.";

bool is_comparison(BinaryOp op) {
  return op == BinaryOp::greater || op == BinaryOp::greater_equal || op == BinaryOp::less
         || op == BinaryOp::less_equal;
}

bool is_logical(BinaryOp op) {
  return op == BinaryOp::logical_and || op == BinaryOp::logical_or;
}

bool compare(BinaryOp op, const Number& a, const Number& b) {
  switch (op) {
    case BinaryOp::greater:
      return a > b;
    case BinaryOp::greater_equal:
      return a >= b;
    case BinaryOp::less:
      return a < b;
    default:
      return a <= b;
  }
}

struct Arithmetic {
  std::optional<Number> (*compute)(const Number&, const Number&);
  const char* undefined;
};

Arithmetic arithmetic(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return {&Number::add, "can't compute sum of opposing infinities"};
    case BinaryOp::subtract:
      return {&Number::subtract, "can't subtract infinity from itself"};
    case BinaryOp::multiply:
      return {&Number::multiply, "can't multiply zero by infinity"};
    case BinaryOp::divide:
      return {&Number::divide, "can't divide zero by zero or infinity by infinity"};
    default:
      return {&Number::modulo, "can't use modulo with zero and infinity"};
  }
}

}  // namespace

/// `value` as the operator needs it; unknown, after a complaint, when it is something else.
Value Evaluator::operand(const Expression& expression,
                         Value value,
                         const Type& type,
                         std::string_view side) {
  Converted converted = convert(value, type);
  if (auto* out = std::get_if<Value>(&converted)) return std::move(*out);
  error(expression, "Invalid operand",
        "Unsuitable value for " + std::string{side}
            + " operand: " + std::get<ConversionError>(converted).message + ".");
  return {};
}

Value Evaluator::binary(const BinaryExpr& expression) {
  const std::size_t before = errors_;
  Value left = eval(*expression.left);
  Value right = eval(*expression.right);
  const BinaryOp op = expression.op;
  const bool equality = op == BinaryOp::equal || op == BinaryOp::not_equal;
  const Type result
      = equality || is_logical(op) || is_comparison(op) ? Type::boolean() : Type::number();
  if (equality) {
    if (errors_ > before) return Value::unknown(result);
    const auto equal = Value::equals(left, right);
    return equal ? Value::boolean(*equal == (op == BinaryOp::equal)) : Value::unknown(result);
  }
  const Type wanted = is_logical(op) ? Type::boolean() : Type::number();
  left = operand(*expression.left, std::move(left), wanted, "left");
  right = operand(*expression.right, std::move(right), wanted, "right");
  if (errors_ > before) return Value::unknown(result);
  if (left.is_null() || right.is_null()) {
    error(expression, operation_failed, null_operand);
    return Value::unknown(result);
  }
  if (left.is_unknown() || right.is_unknown()) return Value::unknown(result);
  if (op == BinaryOp::logical_and) return Value::boolean(left.as_bool() && right.as_bool());
  if (op == BinaryOp::logical_or) return Value::boolean(left.as_bool() || right.as_bool());
  if (is_comparison(op)) return Value::boolean(compare(op, left.as_number(), right.as_number()));
  const Arithmetic operation = arithmetic(op);
  auto number = operation.compute(left.as_number(), right.as_number());
  if (number) return Value::number(std::move(*number));
  error(expression, operation_failed,
        std::string{"Error during operation: "} + operation.undefined + ".");
  return Value::unknown(result);
}

Value Evaluator::unary(const UnaryExpr& expression) {
  const std::size_t before = errors_;
  const bool negate = expression.op == UnaryOp::negate;
  const Type type = negate ? Type::number() : Type::boolean();
  const Value value = operand(*expression.operand, eval(*expression.operand), type, "unary");
  if (errors_ > before) return Value::unknown(type);
  if (value.is_null()) {
    error(expression, operation_failed, null_operand);
    return Value::unknown(type);
  }
  if (value.is_unknown()) return Value::unknown(type);
  return negate ? Value::number(-value.as_number()) : Value::boolean(!value.as_bool());
}

}  // namespace nomad::hcl
