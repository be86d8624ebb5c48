// Evaluation of expressions.
//
// Pure: a value depends on the expression and its context only. Mistakes are diagnostics, and an
// expression that failed has an unknown value. Work is bounded by a budget shared by everything
// that is evaluated under one context.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/work.hpp"
#include "runtime/hcl/syntax/ast.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"
#include "runtime/hcl/value/value.hpp"

namespace nomad::hcl {

class FunctionTable;

struct Evaluated {
  Value value;
  Diagnostics diagnostics;

  bool ok() const { return !has_errors(diagnostics); }
};

/// Bounds on evaluation. Reaching one is a diagnostic ("Evaluation limit exceeded").
struct EvalLimits {
  /// Nodes that are evaluated, and the bytes that functions read.
  std::uint64_t work = 20'000'000 * Work::step;
  std::uint64_t value_weight = 64U << 20U;  ///< bytes of one value, counted as a tree
  std::uint32_t value_height = 300;         ///< nesting of one value
  std::uint64_t made_bytes
      = 512U << 20U;  ///< of texts, results of functions and of evaluations, together
};

/// What is left of the limits; shared by contexts, not safe for concurrent use.
struct EvalBudget {
  EvalLimits limits{};
  Work work{limits.work};
  std::uint64_t bytes_made = 0;
  bool exhausted = false;
};

/// Variables and functions an expression may use. A context may have a parent, which must outlive
/// it, and shadows its variables.
struct EvalContext {
  const EvalContext* parent = nullptr;
  /// Null: variables are not allowed here (unless a parent has some).
  const std::vector<std::pair<std::string, Value>>* variables = nullptr;
  /// Null: functions are not allowed here (unless a parent has some).
  const FunctionTable* functions = nullptr;
  /// Called for a root name that no context knows; when absent that is an error. The nearest
  /// context's is used.
  std::function<Evaluated(const VariableExpr&)> undefined_variable;
  /// Null: the parent's; when no context has one, each evaluation has its own.
  EvalBudget* budget = nullptr;
};

/// The value of `expression`. A null context allows constants only.
Evaluated evaluate(const Expression& expression, const EvalContext* context);

/// `collection[key]` and `object.name` as the language does them; errors are placed at `span`.
Evaluated index_value(const Value& collection, const Value& key, const Source& source, Span span);
Evaluated attribute_value(const Value& object,
                          std::string_view name,
                          const Source& source,
                          Span span);

}  // namespace nomad::hcl
