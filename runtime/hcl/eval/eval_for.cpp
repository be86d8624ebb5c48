// `for` expressions.
#include <map>

#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/evaluator.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* invalid_condition = "Invalid 'for' condition";
constexpr const char* null_condition = "The value of the 'if' clause must not be null.";

}  // namespace

/// What is said of something that each element has to have.
struct Evaluator::ElementWords {
  std::string_view summary;
  std::string is_null;
  std::string is_invalid;
};

/// One run over a collection. `known` turns false once an iteration had no usable result; then the
/// rest is only looked at for its diagnostics.
struct Evaluator::Loop {
  Loop(const ForExpr& loop, const Value& values, const EvalContext* outer)
      : expression{loop}, collection{values} {
    if (!expression.key_name.empty()) variables.emplace_back(expression.key_name, Value{});
    variables.emplace_back(expression.value_name, Value{});
    if (!expression.key_name.empty() && expression.key_name == expression.value_name)
      variables.erase(variables.begin());  // the value shadows the key
    scope.parent = outer;
    scope.variables = &variables;
  }

  void set(Value key, Value value) {
    if (variables.size() == 2) variables.front().second = std::move(key);
    variables.back().second = std::move(value);
  }

  const ForExpr& expression;
  const Value& collection;
  std::vector<std::pair<std::string, Value>> variables;
  EvalContext scope;
  std::size_t at = 0;
  bool known = true;
};

/// Binds the next element; false at the end.
bool Evaluator::next(Loop& loop) {
  if (loop.at >= loop.collection.size() || !spend(loop.expression, 1)) return false;
  if (loop.collection.is_mapping()) {
    const auto& [key, value] = loop.collection.entries()[loop.at];
    loop.set(Value::string(key), value);
  } else {
    const Value& value = loop.collection.elements()[loop.at];
    loop.set(loop.collection.kind() == Type::Kind::set
                 ? value
                 : Value::number(static_cast<std::int64_t>(loop.at)),
             value);
  }
  ++loop.at;
  return true;
}

Value Evaluator::for_loop(const ForExpr& expression) {
  const Value collection = eval(*expression.collection);
  if (collection.is_null()) {
    error(*expression.collection, "Iteration over null value",
          "A null value cannot be used as the collection in a 'for' expression.");
    return {};
  }
  if (collection.kind() == Type::Kind::dynamic) return {};
  if (collection.type().is_primitive()) {
    error(*expression.collection, "Iteration over non-iterable value",
          "A value of type " + collection.type().friendly_name()
              + " cannot be used as the collection in a 'for' expression.");
    return {};
  }
  if (collection.is_unknown()) return {};
  Loop loop{expression, collection, context_};
  const EvalContext* outer = std::exchange(context_, &loop.scope);
  Value out;
  if (expression.condition == nullptr || check_condition(expression))
    out = expression.key != nullptr ? loop_object(loop) : loop_tuple(loop);
  context_ = outer;
  return out;
}

/// Evaluates the condition once with unknown variables, so that one that can never be right is
/// reported once and not for each element.
bool Evaluator::check_condition(const ForExpr& expression) {
  const std::size_t before = errors_;
  const Value result = eval(*expression.condition);
  if (result.is_null()) {
    error(*expression.condition, "Condition is null", null_condition);
    return false;
  }
  const Converted converted = convert(result, Type::boolean());
  if (const auto* wrong = std::get_if<ConversionError>(&converted)) {
    error(*expression.condition, invalid_condition,
          "The 'if' clause value is invalid: " + wrong->message + ".");
    return false;
  }
  return errors_ == before;
}

/// Evaluates what is asked of the current element; nothing, after one complaint, when that is not
/// of the type.
std::optional<Value> Evaluator::of_element(Loop& loop,
                                           const Expression& expression,
                                           const Type& type,
                                           const ElementWords& words) {
  const Value value = eval(expression);
  std::string wrong;
  if (value.is_null()) {
    wrong = words.is_null;
  } else if (value.is_known()) {
    Converted converted = convert(value, type);
    if (auto* fitting = std::get_if<Value>(&converted)) return std::move(*fitting);
    wrong = words.is_invalid + std::get<ConversionError>(converted).message + ".";
  }
  if (!wrong.empty() && loop.known) error(expression, std::string{words.summary}, std::move(wrong));
  loop.known = false;
  return std::nullopt;
}

/// Whether the condition takes the current element.
bool Evaluator::included(Loop& loop) {
  static const ElementWords words{invalid_condition, null_condition,
                                  "The 'if' clause value is invalid: "};
  if (loop.expression.condition == nullptr) return true;
  const auto include = of_element(loop, *loop.expression.condition, Type::boolean(), words);
  return include && include->as_bool();
}

Value Evaluator::loop_tuple(Loop& loop) {
  Value::Elements elements;
  std::uint64_t weight = 0;
  while (next(loop)) {
    if (!included(loop)) continue;
    elements.push_back(eval(*loop.expression.value));
    weight += elements.back().weight();
    if (weight > budget_.limits.value_weight) break;
  }
  return loop.known ? bounded(loop.expression, Value::tuple(std::move(elements))) : Value{};
}

Value Evaluator::loop_object(Loop& loop) {
  static const ElementWords words{
      "Invalid object key", "Key expression in 'for' expression must not produce a null value.",
      "The key expression produced an invalid result: "};
  std::map<std::string, Value::Elements, std::less<>> groups;
  std::uint64_t weight = 0;
  while (next(loop) && weight <= budget_.limits.value_weight) {
    if (!included(loop)) continue;
    const auto name = of_element(loop, *loop.expression.key, Type::string(), words);
    if (!name) continue;
    const std::string key{name->as_string()};
    Value value = eval(*loop.expression.value);
    weight += value.weight() + key.size();
    Value::Elements& group = groups[key];
    if (!group.empty() && !loop.expression.group) {
      error(*loop.expression.key, "Duplicate object key",
            "Two different items produced the key " + quote(key)
                + " in this 'for' expression. If duplicates are expected, use the ellipsis (...) after the "
                  "value expression to enable grouping by key.");
      continue;
    }
    group.push_back(std::move(value));
  }
  if (!loop.known) return {};
  Value::Entries entries;
  for (auto& [key, group] : groups)
    entries.emplace_back(
        key, loop.expression.group ? Value::tuple(std::move(group)) : std::move(group.front()));
  return bounded(loop.expression, Value::object(std::move(entries)));
}

}  // namespace nomad::hcl
