// Function and FunctionTable: what an expression can call.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/hcl/value.hpp"

namespace nomad::hcl {

/// Why a call failed. With `argument`, the position of the argument at fault.
struct FunctionError {
  std::string message;
  std::optional<std::size_t> argument;
};

using FunctionResult = std::variant<Value, FunctionError>;

struct Parameter {
  std::string_view name;
  Type type;
  bool allow_null = false;
  bool allow_unknown = false;
  /// Passes the unevaluated argument on; see `Function::lazy`.
  bool is_expression = false;
};

struct EvalContext;
struct Expression;
struct Evaluated;

/// A pure function. Arguments arrive converted to the parameters' types and wholly known unless a
/// parameter allows otherwise.
struct Function {
  std::string_view name;
  std::vector<Parameter> parameters;
  std::optional<Parameter> variadic;
  std::function<FunctionResult(std::span<const Value>)> call;
  /// Set instead of `call` for `try`, `can` and `convert`, which see the expressions.
  std::function<FunctionResult(std::span<const Expression* const>, const EvalContext*)> lazy;
};

/// Functions by name, sorted.
class FunctionTable {
public:
  explicit FunctionTable(std::vector<Function> functions);

  const Function* find(std::string_view name) const;

  const std::vector<Function>& all() const noexcept { return functions_; }

private:
  std::vector<Function> functions_;
};

}  // namespace nomad::hcl
