// The evaluator behind `evaluate`; private to the eval_*.cpp files.
//
// It computes values and collects diagnostics as the reference implementation does: an operation
// whose operand failed yields an unknown value, which passes through what follows without further
// complaints. Every node costs a step of the budget; recursion is bounded by the trees' heights.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/eval/function.hpp"
#include "runtime/hcl/syntax/json_node.hpp"

namespace nomad::hcl {

class Evaluator {
public:
  Evaluator(const EvalContext* context, EvalBudget& budget) : context_{context}, budget_{budget} {}

  /// An expression by itself; its value counts among what is made.
  Value eval_whole(const Expression& expression);

  Value eval(const Expression& expression);

  Diagnostics take_diagnostics() { return std::move(diagnostics_); }

  bool failed() const { return errors_ > 0; }

private:
  struct Argument {
    const Expression* expr;  // null for an element of an expanded list
    Value value;             // of such an element
    Span span;
    Span start;
  };

  /// Runs `action` with diagnostics of its own and returns these.
  template <class Action>
  std::pair<Diagnostics, std::size_t> apart(Action&& action);

  void error(const Expression& at, Span span, std::string summary, std::string detail);

  void error(const Expression& at, std::string summary, std::string detail) {
    error(at, at.span, std::move(summary), std::move(detail));
  }

  bool spend(const Expression& at, std::uint64_t steps);
  bool make(const Expression& at, std::uint64_t bytes);
  Value bounded(const Expression& at, Value value);

  Value variable(const VariableExpr& expression);
  Value unknown_variable(const VariableExpr& expression, bool allowed);
  Value traverse(Value value, std::span<const Step> steps, const Expression& at);
  Value index(const IndexExpr& expression);
  Value conditional(const ConditionalExpr& expression);
  Value choose(const ConditionalExpr& expression,
               bool truth,
               Value chosen,
               const Type& type,
               bool to_convert);
  Value unary(const UnaryExpr& expression);
  Value binary(const BinaryExpr& expression);
  Value operand(const Expression& expression, Value value, const Type& type, std::string_view side);
  Value tuple(const TupleExpr& expression);
  Value object(const ObjectExpr& expression);
  Value object_key(const ObjectKeyExpr& expression);
  Value splat(const SplatExpr& expression);
  Value splat_elements(const SplatExpr& expression, const Value& source);
  Value splat_unknown(const SplatExpr& expression, const Type& source);
  Value splat_item(const SplatExpr& expression, const Value& item);
  Value splat_item(const SplatItemExpr& expression) const;
  Value template_text(const TemplateExpr& expression);
  Value template_join(const TemplateJoinExpr& expression);
  Value json(const JsonExpr& expression);
  Value json_string(std::string_view text, Span span, const File& file);
  Value json_object(const JsonExpr& expression);

  // for
  struct Loop;
  struct ElementWords;
  Value for_loop(const ForExpr& expression);
  bool check_condition(const ForExpr& expression);
  std::optional<Value> of_element(Loop& loop,
                                  const Expression& expression,
                                  const Type& type,
                                  const ElementWords& words);
  bool included(Loop& loop);
  Value loop_tuple(Loop& loop);
  Value loop_object(Loop& loop);
  bool next(Loop& loop);

  // calls
  const Function* find_function(const CallExpr& call);
  bool expand(const CallExpr& call, std::vector<Argument>& args);
  bool count_arguments(const CallExpr& call,
                       const Function& function,
                       const std::vector<Argument>& args);
  Value call(const CallExpr& expression);
  Value call_plain(const CallExpr& call, const Function& function, std::vector<Argument>& args);

  Value argument(const Argument& argument) {
    return argument.expr != nullptr ? eval(*argument.expr) : argument.value;
  }

  void argument_error(const CallExpr& call,
                      const Function& function,
                      const std::vector<Argument>& args,
                      std::size_t index,
                      const std::string& message);
  Value call_error(const CallExpr& call, const std::string& message);
  Value call_try(const CallExpr& call, const std::vector<Argument>& args);
  Value call_can(const std::vector<Argument>& args);
  Value call_convert(const CallExpr& call,
                     const Function& function,
                     const std::vector<Argument>& args);

  const EvalContext* context_;
  EvalBudget& budget_;
  Diagnostics diagnostics_;
  std::size_t errors_ = 0;
  std::vector<std::pair<const SplatItemExpr*, Value>> splat_items_;
};

template <class Action>
std::pair<Diagnostics, std::size_t> Evaluator::apart(Action&& action) {
  Diagnostics outer = std::exchange(diagnostics_, {});
  const std::size_t outer_errors = std::exchange(errors_, 0);
  action();
  std::pair<Diagnostics, std::size_t> out{std::exchange(diagnostics_, std::move(outer)),
                                          std::exchange(errors_, outer_errors)};
  return out;
}

}  // namespace nomad::hcl
