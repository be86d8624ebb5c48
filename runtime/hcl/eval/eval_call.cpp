// Function calls, and the three functions that see their arguments unevaluated.
#include <algorithm>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/evaluator.hpp"
#include "runtime/hcl/eval/type_expression.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* invalid_argument = "Invalid function argument";

const Parameter& parameter(const Function& function, std::size_t i) {
  return i < function.parameters.size() ? function.parameters[i] : *function.variadic;
}

/// Bytes of argument that one evaluation step pays for.
constexpr std::uint64_t bytes_per_step = Work::step;

}  // namespace

FunctionTable::FunctionTable(std::vector<Function> functions) : functions_{std::move(functions)} {
  std::sort(functions_.begin(), functions_.end(),
            [](const Function& a, const Function& b) { return a.name < b.name; });
}

const Function* FunctionTable::find(std::string_view name) const {
  const auto at
      = std::lower_bound(functions_.begin(), functions_.end(), name,
                         [](const Function& f, std::string_view n) { return f.name < n; });
  return at != functions_.end() && at->name == name ? &*at : nullptr;
}

const Function* Evaluator::find_function(const CallExpr& call) {
  bool allowed = false;
  std::vector<std::string_view> names;
  for (const EvalContext* context = context_; context != nullptr; context = context->parent) {
    if (context->functions == nullptr) continue;
    allowed = true;
    if (const Function* found = context->functions->find(call.name)) return found;
    for (const Function& function : context->functions->all())
      names.push_back(function.name);
  }
  if (!allowed) {
    error(call, "Function calls not allowed", "Functions may not be called here.");
    return nullptr;
  }
  const std::string near{closest_name(call.name, names)};
  error(call, call.name_span, "Call to unknown function",
        "There is no function named " + quote(call.name) + "."
            + (near.empty() ? "" : " Did you mean " + quote(near) + "?"));
  if (!near.empty() && !diagnostics_.empty()) diagnostics_.back().suggestion = near;
  return nullptr;
}

/// The arguments as written, with a final `list...` spread out. False when that failed.
bool Evaluator::expand(const CallExpr& call, std::vector<Argument>& args) {
  constexpr const char* summary = "Invalid expanding argument value";
  for (const Expression* arg : call.args)
    args.push_back({arg, {}, arg->span, start_span(*arg)});
  if (!call.expand_final || args.empty()) return true;
  const Expression& last = *args.back().expr;
  const std::size_t before = errors_;
  const Value value = eval(last);
  if (errors_ > before) return false;
  const Type::Kind kind = value.kind();
  const bool sequence
      = kind == Type::Kind::tuple || kind == Type::Kind::list || kind == Type::Kind::set;
  if (value.is_null() && (sequence || kind == Type::Kind::dynamic)) {
    error(last, summary, "The expanding argument (indicated by ...) must not be null.");
    return false;
  }
  if (!sequence && kind != Type::Kind::dynamic) {
    error(last, summary,
          "The expanding argument (indicated by ...) must be of a tuple, list, or set type.");
    return false;
  }
  if (value.is_unknown()) return false;
  args.pop_back();
  for (const Value& element : value.elements())
    args.push_back({nullptr, element, last.span, last.span});
  return true;
}

bool Evaluator::count_arguments(const CallExpr& call,
                                const Function& function,
                                const std::vector<Argument>& args) {
  const std::size_t wanted = function.parameters.size();
  if (args.size() < wanted) {
    error(call, call.close_paren, "Not enough function arguments",
          "Function " + quote(call.name) + " expects" + (function.variadic ? " at least" : "") + " "
              + std::to_string(wanted) + " argument(s). Missing value for "
              + quote(function.parameters[args.size()].name) + ".");
    return false;
  }
  if (!function.variadic && args.size() > wanted) {
    error(call, args[wanted].start, "Too many function arguments",
          "Function " + quote(call.name) + " expects only " + std::to_string(wanted)
              + " argument(s).");
    return false;
  }
  return true;
}

Value Evaluator::call(const CallExpr& expression) {
  const Function* function = find_function(expression);
  std::vector<Argument> args;
  if (function == nullptr || !expand(expression, args)
      || !count_arguments(expression, *function, args))
    return {};
  switch (function->form) {
    case Function::Form::plain:
      return call_plain(expression, *function, args);
    case Function::Form::try_:
      return call_try(expression, args);
    case Function::Form::can:
      return call_can(args);
    case Function::Form::convert:
      return call_convert(expression, *function, args);
  }
  return {};
}

void Evaluator::argument_error(const CallExpr& call,
                               const Function& function,
                               const std::vector<Argument>& args,
                               std::size_t index,
                               const std::string& message) {
  const std::size_t at = index < args.size() ? index : args.size() - 1;
  // An argument that came out of an expanded list is reported at the list.
  const Span span = at < call.args.size() ? start_span(*call.args[at]) : args[at].start;
  error(call, span, invalid_argument,
        "Invalid value for " + quote(parameter(function, index).name) + " parameter: " + message
            + ".");
}

Value Evaluator::call_error(const CallExpr& call, const std::string& message) {
  error(call, cover(call.name_span, call.open_paren), "Error in function call",
        "Call to function " + quote(call.name) + " failed: " + message + ".");
  return {};
}

Value Evaluator::call_plain(const CallExpr& call,
                            const Function& function,
                            std::vector<Argument>& args) {
  const std::size_t before = errors_;
  std::vector<Value> values;
  values.reserve(args.size());
  std::uint64_t weight = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    Value value = argument(args[i]);
    Converted converted = convert(value, parameter(function, i).type);
    if (const auto* wrong = std::get_if<ConversionError>(&converted)) {
      error(call, args[i].start, invalid_argument,
            "Invalid value for " + quote(parameter(function, i).name)
                + " parameter: " + wrong->message + ".");
      values.emplace_back();
      continue;
    }
    values.push_back(std::move(std::get<Value>(converted)));
    weight += values.back().weight();
  }
  if (errors_ > before) return {};
  bool unknown = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null() && !parameter(function, i).allow_null) {
      argument_error(call, function, args, i, "argument must not be null");
      return {};
    }
    unknown = unknown || (values[i].is_unknown() && !parameter(function, i).allow_unknown);
  }
  const std::uint64_t cost
      = weight / bytes_per_step + (function.cost && !unknown ? function.cost(values) : 0);
  if (unknown || !spend(call, cost)) return {};
  FunctionResult result
      = function.working ? function.working(values, budget_.work) : function.call(values);
  if (!result.has_error()) {
    Value value = std::move(result).take();
    return make(call, value.weight()) ? bounded(call, std::move(value)) : Value{};
  }
  const FunctionError& failure = result.error();
  if (!failure.argument || args.empty()) return call_error(call, failure.message);
  argument_error(call, function, args, *failure.argument, failure.message);
  return {};
}

Value Evaluator::call_try(const CallExpr& call, const std::vector<Argument>& args) {
  if (args.empty()) return call_error(call, "at least one argument is required");
  std::string failures;
  for (const Argument& arg : args) {
    Value value;
    const auto [diagnostics, errors] = apart([&] { value = argument(arg); });
    if (errors == 0) return value;
    for (const Diagnostic& diagnostic : diagnostics) {
      failures += "- " + diagnostic.summary;
      if (diagnostic.subject) failures += " (at " + diagnostic.subject->to_string() + ")";
      failures += "\n  " + diagnostic.detail + "\n";
    }
  }
  return call_error(call, "no expression succeeded:\n" + failures
                              + "\nAt least one expression must produce a successful result");
}

Value Evaluator::call_can(const std::vector<Argument>& args) {
  const auto [diagnostics, errors] = apart([&] { argument(args.front()); });
  return Value::boolean(errors == 0);
}

Value Evaluator::call_convert(const CallExpr& call,
                              const Function& function,
                              const std::vector<Argument>& args) {
  const std::size_t before = errors_;
  const Value value = argument(args[0]);
  if (args[1].expr == nullptr)
    return call_error(call, "a type cannot come out of an expanded list");
  ParsedType type = parse_type(*args[1].expr, true);
  errors_ += type.diagnostics.size();
  append(diagnostics_, std::move(type.diagnostics));
  if (errors_ > before) return {};
  Converted converted = convert(value, type.type);
  if (auto* out = std::get_if<Value>(&converted)) return bounded(call, std::move(*out));
  argument_error(call, function, args, 0, std::get<ConversionError>(converted).message);
  return {};
}

}  // namespace nomad::hcl
