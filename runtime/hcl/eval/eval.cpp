// Evaluation of names, conditionals, collections and templates.
#include "runtime/hcl/eval/eval.hpp"

#include <algorithm>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/evaluator.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::hcl {

namespace {

constexpr std::size_t max_diagnostics = 1000;

EvalBudget* find_budget(const EvalContext* context) {
  for (; context != nullptr; context = context->parent)
    if (context->budget != nullptr) return context->budget;
  return nullptr;
}

}  // namespace

Evaluated evaluate(const Expression& expression, const EvalContext* context) {
  EvalBudget own;
  EvalBudget* shared = find_budget(context);
  Evaluator evaluator{context, shared != nullptr ? *shared : own};
  Evaluated out;
  out.value = evaluator.eval_whole(expression);
  out.diagnostics = evaluator.take_diagnostics();
  return out;
}

void Evaluator::error(const Expression& at, Span span, std::string summary, std::string detail) {
  ++errors_;
  if (diagnostics_.size() < max_diagnostics)
    diagnostics_.push_back(
        error_at(at.file->source(), span, std::move(summary), std::move(detail)));
}

/// Takes `steps` off the budget; false, after one complaint, when it is used up.
bool Evaluator::spend(const Expression& at, std::uint64_t steps) {
  if (budget_.work.take_steps(steps) && budget_.bytes_made <= budget_.limits.made_bytes)
    return true;
  if (!std::exchange(budget_.exhausted, true))
    error(at, "Evaluation limit exceeded", "Evaluating this text takes more work than is allowed.");
  else
    ++errors_;
  return false;
}

/// The same, of bytes that a new value takes: each may be small, and all of them kept.
bool Evaluator::make(const Expression& at, std::uint64_t bytes) {
  budget_.bytes_made += bytes;
  return spend(at, 0);
}

/// `value`, unless it is larger or deeper than a value may be.
Value Evaluator::bounded(const Expression& at, Value value) {
  if (value.weight() <= budget_.limits.value_weight
      && value.height() <= budget_.limits.value_height)
    return value;
  error(at, "Evaluation limit exceeded",
        "This value is larger or more deeply nested than is allowed.");
  return {};
}

/// Whoever asked keeps the value, and may copy what it shares with others.
Value Evaluator::eval_whole(const Expression& expression) {
  Value value = eval(expression);
  return make(expression, value.weight()) ? value : Value{};
}

Value Evaluator::eval(const Expression& expression) {
  if (!spend(expression, 1)) return {};
  switch (expression.kind) {
    case ExprKind::literal:
      return *as<LiteralExpr>(expression).value;
    case ExprKind::variable:
      return variable(as<VariableExpr>(expression));
    case ExprKind::relative: {
      const auto& relative = as<RelativeExpr>(expression);
      return traverse(eval(*relative.source), relative.steps, expression);
    }
    case ExprKind::index:
      return index(as<IndexExpr>(expression));
    case ExprKind::call:
      return call(as<CallExpr>(expression));
    case ExprKind::conditional:
      return conditional(as<ConditionalExpr>(expression));
    case ExprKind::unary:
      return unary(as<UnaryExpr>(expression));
    case ExprKind::binary:
      return binary(as<BinaryExpr>(expression));
    case ExprKind::tuple:
      return tuple(as<TupleExpr>(expression));
    case ExprKind::object:
      return object(as<ObjectExpr>(expression));
    case ExprKind::object_key:
      return object_key(as<ObjectKeyExpr>(expression));
    case ExprKind::for_loop:
      return for_loop(as<ForExpr>(expression));
    case ExprKind::splat:
      return splat(as<SplatExpr>(expression));
    case ExprKind::splat_item:
      return splat_item(static_cast<const SplatItemExpr&>(expression));
    case ExprKind::parentheses:
      return eval(*as<ParenthesesExpr>(expression).inner);
    case ExprKind::template_text:
      return template_text(as<TemplateExpr>(expression));
    case ExprKind::template_wrap:
      return eval(*as<TemplateWrapExpr>(expression).wrapped);
    case ExprKind::template_join:
      return template_join(as<TemplateJoinExpr>(expression));
    case ExprKind::json:
      return json(as<JsonExpr>(expression));
  }
  return {};
}

Value Evaluator::variable(const VariableExpr& expression) {
  const std::function<Evaluated(const VariableExpr&)>* undefined = nullptr;
  bool allowed = false;
  for (const EvalContext* context = context_; context != nullptr; context = context->parent) {
    if (undefined == nullptr && context->undefined_variable)
      undefined = &context->undefined_variable;
    if (context->variables == nullptr) continue;
    allowed = true;
    for (const auto& [name, value] : *context->variables)
      if (name == expression.root_name())
        return traverse(value, expression.steps.subspan(1), expression);
  }
  if (undefined == nullptr) return unknown_variable(expression, allowed);
  Evaluated out = (*undefined)(expression);
  for (Diagnostic& diagnostic : out.diagnostics) {
    errors_ += diagnostic.severity == Severity::error ? 1 : 0;
    diagnostics_.push_back(std::move(diagnostic));
  }
  return std::move(out.value);
}

Value Evaluator::unknown_variable(const VariableExpr& expression, bool allowed) {
  const Span span = expression.steps.front().span;
  if (!allowed) {
    error(expression, span, "Variables not allowed", "Variables may not be used here.");
    return {};
  }
  std::vector<std::string_view> names;
  for (const EvalContext* context = context_; context != nullptr; context = context->parent)
    if (context->variables != nullptr)
      for (const auto& variable : *context->variables)
        names.push_back(variable.first);
  const std::string near{closest_name(expression.root_name(), names)};
  error(expression, span, "Unknown variable",
        "There is no variable named " + quote(expression.root_name()) + "."
            + (near.empty() ? "" : " Did you mean " + quote(near) + "?"));
  if (!near.empty() && !diagnostics_.empty()) diagnostics_.back().suggestion = near;
  return {};
}

Value Evaluator::traverse(Value value, std::span<const Step> steps, const Expression& at) {
  for (const Step& step : steps) {
    if (!spend(at, 1)) return {};
    Evaluated out = step.kind == Step::Kind::index
                        ? index_value(value, *step.key, at.file->source(), step.span)
                        : attribute_value(value, step.name, at.file->source(), step.span);
    const bool failed = !out.diagnostics.empty();
    errors_ += out.diagnostics.size();
    append(diagnostics_, std::move(out.diagnostics));
    if (failed) return {};
    value = std::move(out.value);
  }
  return value;
}

Value Evaluator::index(const IndexExpr& expression) {
  const Value collection = eval(*expression.collection);
  const Value key = eval(*expression.key);
  Evaluated out = index_value(collection, key, expression.file->source(), expression.brackets);
  errors_ += out.diagnostics.size();
  append(diagnostics_, std::move(out.diagnostics));
  return std::move(out.value);
}

Value Evaluator::conditional(const ConditionalExpr& expression) {
  Value if_true;
  Value if_false;
  auto [true_diagnostics, true_errors] = apart([&] { if_true = eval(*expression.if_true); });
  auto [false_diagnostics, false_errors] = apart([&] { if_false = eval(*expression.if_false); });
  Type type;
  bool to_convert = false;
  const auto is_plain_null
      = [](const Value& v) { return v.is_null() && v.kind() == Type::Kind::dynamic; };
  if (is_plain_null(if_true) || is_plain_null(if_false)) {
    type = is_plain_null(if_true) ? if_false.type() : if_true.type();
    to_convert = true;
  } else if (if_true.kind() != Type::Kind::dynamic && if_false.kind() != Type::Kind::dynamic) {
    const Type true_type = if_true.type();
    const Type false_type = if_false.type();
    const auto common = true_type == false_type ? std::optional{true_type}
                                                : unify_unsafe({true_type, false_type});
    if (!common) {
      error(expression, cover(expression.if_true->span, expression.if_false->span),
            "Inconsistent conditional result types",
            "The true and false result expressions must have consistent types. The given "
            "expressions are "
                + true_type.friendly_name() + " and " + false_type.friendly_name()
                + ", respectively.");
      return {};
    }
    type = *common;
    to_convert = true;
  }
  const Value condition = eval(*expression.condition);
  if (condition.is_null()) {
    error(*expression.condition, "Null condition",
          "The condition value is null. Conditions must either be true or false.");
    return Value::unknown(type);
  }
  if (condition.is_unknown()) return Value::unknown(type);
  const Converted truth = convert(condition, Type::boolean());
  if (!std::holds_alternative<Value>(truth)) {
    error(*expression.condition, "Incorrect condition type",
          "The condition expression must be of type bool.");
    return Value::unknown(type);
  }
  const bool taken = std::get<Value>(truth).as_bool();
  append(diagnostics_, taken ? std::move(true_diagnostics) : std::move(false_diagnostics));
  errors_ += taken ? true_errors : false_errors;
  return choose(expression, taken, taken ? std::move(if_true) : std::move(if_false), type,
                to_convert);
}

Value Evaluator::choose(const ConditionalExpr& expression,
                        bool truth,
                        Value chosen,
                        const Type& type,
                        bool to_convert) {
  if (!to_convert) return chosen;
  Converted converted = convert(chosen, type);
  if (auto* value = std::get_if<Value>(&converted)) return bounded(expression, std::move(*value));
  error(truth ? *expression.if_true : *expression.if_false, "Inconsistent conditional result types",
        "The " + std::string{truth ? "true" : "false"} + " result value has the wrong type: "
            + std::get<ConversionError>(converted).message + ".");
  return Value::unknown(type);
}

Value Evaluator::tuple(const TupleExpr& expression) {
  Value::Elements elements;
  elements.reserve(expression.elements.size());
  for (const Expression* element : expression.elements)
    elements.push_back(eval(*element));
  return bounded(expression, Value::tuple(std::move(elements)));
}

Value Evaluator::object_key(const ObjectKeyExpr& expression) {
  if (!expression.force_expression) {
    const Expression& wrapped = *expression.wrapped;
    if (wrapped.kind == ExprKind::variable && as<VariableExpr>(wrapped).steps.size() > 1) {
      error(expression, "Ambiguous attribute key",
            "If this expression is intended to be a reference, wrap it in parentheses. If it's "
            "instead "
            "intended as a literal name containing periods, wrap it in quotes to create a string "
            "literal.");
      return {};
    }
    if (const std::string name = static_keyword(wrapped); !name.empty()) return Value::string(name);
  }
  return eval(*expression.wrapped);
}

Value Evaluator::object(const ObjectExpr& expression) {
  Value::Entries entries;
  entries.reserve(expression.items.size());
  bool known = true;
  for (const ObjectItem& item : expression.items) {
    const std::size_t before = errors_;
    const Value key = eval(*item.key);
    const bool key_failed = errors_ > before;
    Value value = eval(*item.value);
    if (key_failed) {
      known = false;
      continue;
    }
    if (key.is_null()) {
      error(*item.value, "Null value as key", "Can't use a null value as a key.");
      known = false;
      continue;
    }
    const Converted text = convert(key, Type::string());
    if (const auto* wrong = std::get_if<ConversionError>(&text)) {
      error(*item.key, "Incorrect key type",
            "Can't use this value as a key: " + wrong->message + ".");
      known = false;
      continue;
    }
    const Value& name = std::get<Value>(text);
    if (!name.is_string()) {
      known = false;
      continue;
    }
    entries.emplace_back(name.as_string(), std::move(value));
  }
  return known ? bounded(expression, Value::object(std::move(entries))) : Value{};
}

Value Evaluator::splat_item(const SplatItemExpr& expression) const {
  for (auto item = splat_items_.rbegin(); item != splat_items_.rend(); ++item)
    if (item->first == &expression) return item->second;
  return {};
}

Value Evaluator::splat(const SplatExpr& expression) {
  const std::size_t before = errors_;
  Value source = eval(*expression.source);
  if (errors_ > before) return {};
  const Type::Kind kind = source.kind();
  const bool sequence
      = kind == Type::Kind::tuple || kind == Type::Kind::list || kind == Type::Kind::set;
  if (source.is_null()) {
    if (!sequence) return Value::tuple({});
    error(*expression.source, "Splat of null value",
          "Splat expressions (with the * symbol) cannot be applied to null sequences.");
    return {};
  }
  if (kind == Type::Kind::dynamic) return {};
  if (sequence && source.is_unknown()) return splat_unknown(expression, source.type());
  return splat_elements(expression, sequence ? source : Value::tuple({std::move(source)}));
}

Value Evaluator::splat_item(const SplatExpr& expression, const Value& item) {
  splat_items_.emplace_back(expression.item, item);
  Value out = eval(*expression.each);
  splat_items_.pop_back();
  return out;
}

/// An unknown value of the type that a splat over a sequence of type `source` would have.
Value Evaluator::splat_unknown(const SplatExpr& expression, const Type& source) {
  if (source.kind() != Type::Kind::tuple)
    return Value::unknown(
        Type::list(splat_item(expression, Value::unknown(source.element())).type()));
  std::vector<Type> types;
  for (const Type& element : source.elements())
    types.push_back(splat_item(expression, Value::unknown(element)).type());
  return Value::unknown(Type::tuple(std::move(types)));
}

Value Evaluator::splat_elements(const SplatExpr& expression, const Value& source) {
  const std::size_t before = errors_;
  Value::Elements results;
  results.reserve(source.elements().size());
  for (const Value& item : source.elements())
    results.push_back(splat_item(expression, item));
  if (errors_ > before) {  // without further complaints
    Value out;
    apart([&] { out = splat_unknown(expression, source.type()); });
    return out;
  }
  if (source.kind() == Type::Kind::tuple)
    return bounded(expression, Value::tuple(std::move(results)));
  if (results.empty())
    return Value::list(splat_unknown(expression, source.type()).type().element(), {});
  Type element = results.front().type();
  const bool uniform = std::all_of(results.begin(), results.end(),
                                   [&](const Value& v) { return v.type() == element; });
  return bounded(expression, uniform ? Value::list(std::move(element), std::move(results))
                                     : Value::tuple(std::move(results)));
}

Value Evaluator::template_text(const TemplateExpr& expression) {
  constexpr const char* summary = "Invalid template interpolation value";
  if (expression.parts.size() == 1 && expression.parts.front()->kind == ExprKind::literal) {
    const Value& only = *as<LiteralExpr>(*expression.parts.front()).value;
    if (only.is_string()) return only;
  }
  std::string text;
  bool known = true;
  for (const Expression* part : expression.parts) {
    const auto before = text.size();
    const Value value = eval(*part);
    if (value.is_null()) {
      error(*part, summary,
            "The expression result is null. Cannot include a null value in a string template.");
    } else if (value.is_unknown()) {
      known = false;
    } else if (value.is_string()) {
      text += value.as_string();
    } else {
      const Converted converted = convert(value, Type::string());
      if (const auto* wrong = std::get_if<ConversionError>(&converted))
        error(*part, summary,
              "Cannot include the given value in a string template: " + wrong->message + ".");
      else
        text += std::get<Value>(converted).as_string();
    }
    if (!make(expression, text.size() - before)) return Value::unknown(Type::string());
    if (text.size() > budget_.limits.value_weight) {
      error(expression, "Evaluation limit exceeded", "This text is longer than is allowed.");
      return Value::unknown(Type::string());
    }
  }
  return known ? Value::string(text) : Value::unknown(Type::string());
}

Value Evaluator::template_join(const TemplateJoinExpr& expression) {
  const Value pieces = eval(*expression.tuple);
  if (!pieces.is_sequence()) return Value::unknown(Type::string());
  std::string text;
  for (const Value& piece : pieces.elements()) {  // templates: texts, where nothing was wrong
    if (!piece.is_string() || piece.is_null() || piece.is_unknown())
      return Value::unknown(Type::string());
    text += piece.as_string();
  }
  return Value::string(text);
}

}  // namespace nomad::hcl
