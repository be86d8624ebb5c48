#include "runtime/jobspec/parse/variables.hpp"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/type_expression.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "runtime/hcl/value/convert.hpp"
#include "runtime/jobspec/parse/parse_job.hpp"

namespace nomad::jobspec {

namespace {

using hcl::Diagnostic;
using hcl::Type;
using hcl::Value;

constexpr std::string_view environment_prefix = "NOMAD_VAR_";

const hcl::BodySchema& variable_schema() {
  static const hcl::BodySchema schema{{{"description", false}, {"default", false}, {"type", false}},
                                      {hcl::BlockSchema{"validation", {}}}};
  return schema;
}

const hcl::BodySchema& validation_schema() {
  static const hcl::BodySchema schema{{{"condition", true}, {"error_message", true}}, {}};
  return schema;
}

Diagnostic at(const hcl::Expression& expr, std::string summary, std::string detail) {
  return hcl::error_at(expr.file->source(), expr.span, std::move(summary), std::move(detail));
}

Diagnostic at_range(const hcl::Range& range, std::string summary, std::string detail) {
  Diagnostic diagnostic = hcl::error_without_place(std::move(summary), std::move(detail));
  diagnostic.subject = range;
  return diagnostic;
}

/// Full sentences start with a capital, if with a letter at all, and end as sentences do.
bool looks_like_sentences(std::string_view text) {
  if (text.empty()) return false;
  std::int32_t first = 0;
  std::int32_t offset = 0;
  U8_NEXT(text.data(), offset, static_cast<std::int32_t>(text.size()), first);
  if (first >= 0 && u_isalpha(first) && u_charType(first) != U_UPPERCASE_LETTER) return false;
  return text.back() == '.' || text.back() == '?' || text.back() == '!';
}

/// Whether a reference is `var.<name>` or below it.
bool refers_to(const hcl::VariableExpr& reference, std::string_view name) {
  return reference.root_name() == "var" && reference.steps.size() > 1
         && reference.steps[1].kind == hcl::Step::Kind::attribute
         && reference.steps[1].name == name;
}

}  // namespace

Variables::Variable* Variables::find(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void Variables::declare(const hcl::Block& block) {
  const std::string& name = block.labels.front();
  if (find(name) != nullptr) {
    report(hcl::error_without_place("Duplicate variable",
                                    "Duplicate " + name + " variable definition found."));
    return;
  }
  hcl::BodyContent content = block.body.content(variable_schema());
  hcl::append(diagnostics_, std::move(content.diagnostics));
  if (!hcl::is_identifier(name))
    report(hcl::error_at(block.source(), block.label_spans.front(), "Invalid variable name",
                         "A name must start with a letter or underscore and may contain only "
                         "letters, digits, underscores, and dashes."));

  auto variable = std::make_unique<Variable>();
  variable->name = name;
  if (const hcl::Attribute* description = content.find("description")) {
    std::string ignored;
    check_message(*description, ignored);
  }
  if (const hcl::Attribute* type = content.find("type")) {
    hcl::ParsedType parsed = hcl::parse_type(*type->expr, false);
    const bool failed = hcl::has_errors(parsed.diagnostics);
    hcl::append(diagnostics_, std::move(parsed.diagnostics));
    if (failed) return;
    variable->type = parsed.type;
  }
  if (const hcl::Attribute* fallback = content.find("default");
      fallback != nullptr && !declare_default(*fallback, *variable))
    return;
  for (const hcl::Block& inner : content.blocks)
    variable->validations.push_back(declare_validation(name, inner));
  by_name_.emplace(variable->name, variable.get());
  variables_.push_back(std::move(variable));
}

bool Variables::declare_default(const hcl::Attribute& attribute, Variable& variable) {
  hcl::Evaluated evaluated = hcl::evaluate(*attribute.expr, nullptr);
  const bool failed = !evaluated.ok();
  hcl::append(diagnostics_, std::move(evaluated.diagnostics));
  if (failed) return false;
  Value value = std::move(evaluated.value);
  if (variable.type) {
    hcl::Converted converted = hcl::convert(value, *variable.type);
    if (const auto* error = std::get_if<hcl::ConversionError>(&converted)) {
      report(at(*attribute.expr, "Invalid default value for variable",
                "This default value is not compatible with the variable's type constraint: "
                    + error->message + "."));
      value = Value::unknown();
    } else {
      value = std::get<Value>(std::move(converted));
    }
  } else {
    variable.type = value.type();
  }
  variable.value
      = Assignment{"default", std::move(value), attribute.source().range(attribute.expr->span)};
  return true;
}

Variables::Validation Variables::declare_validation(const std::string& name,
                                                    const hcl::Block& block) {
  Validation validation;
  validation.range = block.definition();
  hcl::BodyContent content = block.body.content(validation_schema());
  hcl::append(diagnostics_, std::move(content.diagnostics));
  if (const hcl::Attribute* condition = content.find("condition")) {
    validation.condition = condition->expr;
    check_condition(name, *condition);
  }
  const hcl::Attribute* message = content.find("error_message");
  if (message == nullptr) return validation;
  const std::size_t before = diagnostics_.size();
  check_message(*message, validation.message);
  if (diagnostics_.size() > before) return validation;
  constexpr const char* summary = "Invalid validation error message";
  if (validation.message.empty())
    report(at(*message->expr, summary, "An empty string is not a valid nor useful error message."));
  else if (!looks_like_sentences(validation.message))
    report(at(*message->expr, summary,
              "Validation error message must be at least one full sentence starting with an "
              "uppercase letter ( if the alphabet permits it ) and ending with a period or "
              "question mark."));
  return validation;
}

void Variables::check_condition(const std::string& name, const hcl::Attribute& attribute) {
  int good = 0;
  for (const hcl::VariableExpr* reference : hcl::referenced_variables(*attribute.expr)) {
    if (refers_to(*reference, name)) {
      ++good;
      continue;
    }
    report(at(*reference, "Invalid reference in variable validation",
              fmt::format("The condition for variable {} can only refer to the variable itself, "
                          "using var.{}.",
                          quote(name), name)));
  }
  if (good == 0)
    report(at(*attribute.expr, "Invalid variable validation condition",
              fmt::format("The condition for variable {} must refer to var.{} in order to test "
                          "incoming values.",
                          quote(name), name)));
}

void Variables::check_message(const hcl::Attribute& attribute, std::string& message) {
  hcl::Evaluated evaluated = hcl::evaluate(*attribute.expr, nullptr);
  hcl::append(diagnostics_, std::move(evaluated.diagnostics));
  const hcl::Converted converted = hcl::convert(evaluated.value, Type::string());
  std::string wrong;
  if (const auto* error = std::get_if<hcl::ConversionError>(&converted)) {
    wrong = error->message;
  } else {
    const Value& text = std::get<Value>(converted);
    if (text.is_string())
      message = text.as_string();
    else
      wrong = text.is_null() ? "null value is not allowed" : "value must be known";
  }
  if (!wrong.empty())
    report(hcl::error_at(attribute.source(), hcl::start_span(*attribute.expr),
                         "Unsuitable value type", "Unsuitable value: " + wrong));
}

void Variables::declare_all(const hcl::Block& block) {
  hcl::JustAttributes found = block.body.just_attributes();
  hcl::append(diagnostics_, std::move(found.diagnostics));
  for (const hcl::Attribute& attribute : found.attributes) {
    const std::string name{attribute.name};
    if (find(name) != nullptr) {
      report(hcl::error_at(attribute.source(), attribute.name_span, "Duplicate variable",
                           "Duplicate " + name + " variable definition found."));
      continue;
    }
    auto variable = std::make_unique<Variable>();
    variable->name = name;
    if (!declare_default(attribute, *variable)) continue;
    by_name_.emplace(variable->name, variable.get());
    variables_.push_back(std::move(variable));
  }
}

void Variables::set(Variable& variable,
                    Assignment assignment,
                    std::string summary,
                    std::string what) {
  if (variable.type) {
    hcl::Converted converted = hcl::convert(assignment.value, *variable.type);
    if (const auto* error = std::get_if<hcl::ConversionError>(&converted)) {
      report(at_range(assignment.range, std::move(summary),
                      fmt::format("The {} for {} is not compatible with the variable's type "
                                  "constraint: {}.",
                                  what, variable.name, error->message)));
      assignment.value = Value::unknown();
    } else {
      assignment.value = std::get<Value>(std::move(converted));
    }
  }
  variable.value = std::move(assignment);
}

void Variables::assign_text(Variable& variable, std::string_view from, const std::string& text) {
  const bool command = from == "cmd";
  const std::string summary
      = command ? "Invalid argument value for -var variable" : "Invalid value for variable";
  const std::string what = command ? "received arg value" : "value";
  const bool literal = !variable.type || variable.type->kind() == Type::Kind::string
                       || variable.type->kind() == Type::Kind::number;
  if (literal) {
    const hcl::Range nowhere{"", {0, 0, 0}, {0, 0, 0}};
    set(variable, {from, Value::string(text), nowhere}, summary, what);
    return;
  }
  hcl::Parsed parsed = hcl::parse_expression(
      fmt::format("<value for var.{} from {}>", variable.name, command ? "arguments" : "env"),
      text);
  const bool failed = !parsed.ok();
  hcl::append(diagnostics_, std::move(parsed.diagnostics));
  if (failed) return;
  const hcl::Expression& expr = *parsed.file->expression();
  hcl::Evaluated evaluated = hcl::evaluate(expr, nullptr);
  hcl::append(diagnostics_, std::move(evaluated.diagnostics));
  set(variable, {from, std::move(evaluated.value), parsed.file->source().range(expr.span)}, summary,
      what);
}

bool Variables::assign_file(const std::shared_ptr<const hcl::File>& file, bool strict) {
  const hcl::Body body{file};
  const hcl::PartialContent declared
      = body.partial_content({{}, {hcl::BlockSchema{"variable", {"name"}}}});
  for (const hcl::Block& block : declared.content.blocks) {
    const std::string& name = block.labels.front();
    report(hcl::error_at(
        block.source(), block.type_span, "Variable declaration in a .var file",
        fmt::format("A .var file is used to assign values to variables that have already been "
                    "declared in job files, not to declare new variables. To declare variable {}, "
                    "place this block in one of your job files\n\nTo set a value for this "
                    "variable in {}, use the definition syntax instead:\n    {} = <value>",
                    quote(name), block.source().file_name(), name)));
  }
  if (hcl::has_errors(diagnostics_) && !declared.content.blocks.empty()) return false;

  hcl::JustAttributes found = body.just_attributes();
  hcl::append(diagnostics_, std::move(found.diagnostics));
  for (const hcl::Attribute& attribute : found.attributes) {
    const std::string name{attribute.name};
    Variable* variable = find(name);
    if (variable == nullptr) {
      Diagnostic unknown = hcl::error_without_place(
          "Undefined variable",
          fmt::format("A {} variable was set but was not found in known variables. To declare "
                      "variable {}, place this block in your job files",
                      quote(name), quote(name)));
      if (!strict) unknown.severity = hcl::Severity::warning;
      report(std::move(unknown));
      continue;
    }
    hcl::Evaluated evaluated = attribute.evaluate(nullptr);
    hcl::append(diagnostics_, std::move(evaluated.diagnostics));
    set(*variable,
        {"varfile", std::move(evaluated.value), attribute.source().range(attribute.expr->span)},
        "Invalid value for variable", "value");
  }
  return true;
}

void Variables::assign(const ParseOptions& options,
                       const std::vector<std::shared_ptr<const hcl::File>>& files) {
  for (const std::string& entry : options.environment) {
    const std::string_view raw = entry;
    const std::size_t equals = raw.find('=');
    if (!raw.starts_with(environment_prefix) || equals == std::string_view::npos
        || equals < environment_prefix.size())
      continue;
    const std::string_view name
        = raw.substr(environment_prefix.size(), equals - environment_prefix.size());
    if (Variable* variable = find(name))
      assign_text(*variable, "env", std::string{raw.substr(equals + 1)});
  }
  for (const std::shared_ptr<const hcl::File>& file : files)
    if (!assign_file(file, options.strict)) return;
  // Of one variable given twice only the last counts, also for mistakes.
  std::unordered_map<std::string_view, const std::string*> last;
  for (const auto& [name, text] : options.variables)
    last[name] = &text;
  for (const auto& [name, text] : options.variables) {
    if (last.at(name) != &text) continue;
    if (Variable* variable = find(name)) {
      assign_text(*variable, "cmd", text);
      continue;
    }
    Diagnostic unknown = hcl::error_without_place(
        "Undefined -var variable",
        fmt::format("A {} variable was passed in the command line but was not found in known "
                    "variables. To declare variable {}, place this block in your job file",
                    quote(name), quote(name)));
    if (!options.strict) unknown.severity = hcl::Severity::warning;
    report(std::move(unknown));
  }
}

Value::Entries Variables::values() {
  Value::Entries entries;
  for (const std::unique_ptr<Variable>& variable : variables_) {
    if (!variable->value) {
      report(hcl::error_without_place(
          "Unset variable " + quote(variable->name),
          "A used variable must be set or have a default value; see "
          "https://www.nomadproject.io/docs/job-specification/hcl2/variables for details."));
      entries.emplace_back(variable->name, Value::unknown(variable->type.value_or(Type{})));
      continue;
    }
    entries.emplace_back(variable->name, variable->value->value);
    if (!variable->validations.empty()) validate(*variable);
  }
  return entries;
}

void Variables::validate(const Variable& variable) {
  Value::Entries itself;
  itself.emplace_back(variable.name, variable.value->value);
  const std::vector<std::pair<std::string, Value>> scope{{"var", Value::object(std::move(itself))}};
  hcl::EvalContext context;
  context.variables = &scope;
  context.functions = &functions_;
  constexpr const char* summary = "Invalid variable validation result";
  for (const Validation& validation : variable.validations) {
    if (validation.condition == nullptr) {
      report(at_range(validation.range, "Invalid variable validation specification",
                      "validation requires a condition."));
      continue;
    }
    hcl::Evaluated evaluated = hcl::evaluate(*validation.condition, &context);
    hcl::append(diagnostics_, std::move(evaluated.diagnostics));
    if (evaluated.value.is_unknown()) continue;
    if (evaluated.value.is_null()) {
      report(at(*validation.condition, summary,
                "Validation condition expression must return either true or false, not null."));
      continue;
    }
    const hcl::Converted converted = hcl::convert(evaluated.value, Type::boolean());
    if (const auto* error = std::get_if<hcl::ConversionError>(&converted)) {
      report(at(*validation.condition, summary,
                "Invalid validation condition result value: " + error->message + "."));
      continue;
    }
    if (!std::get<Value>(converted).as_bool())
      report(at_range(variable.value->range,
                      fmt::format("Invalid value for {} variable", variable.value->from),
                      fmt::format("{}\n\nThis was checked by the validation rule at {}.",
                                  validation.message, validation.range.to_string())));
  }
}

}  // namespace nomad::jobspec
