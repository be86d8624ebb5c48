// Values of JSON files: strings are templates wherever there is a context to evaluate them in.
#include <unordered_map>

#include "runtime/hcl/convert.hpp"
#include "runtime/hcl/evaluator.hpp"
#include "runtime/hcl/parser.hpp"
#include "runtime/hcl/text.hpp"

namespace nomad::hcl {

Value Evaluator::json(const JsonExpr& expression) {
  const JsonNode& node = *expression.node;
  switch (node.kind) {
    case JsonNode::Kind::invalid:
      return {};
    case JsonNode::Kind::null:
      return Value::null();
    case JsonNode::Kind::boolean:
    case JsonNode::Kind::number:
      return *node.value;
    case JsonNode::Kind::string:
      return json_string(node.text, node.span, *expression.file);
    case JsonNode::Kind::array: {
      Value::Elements elements;
      elements.reserve(node.element_exprs.size());
      for (const JsonExpr& element : node.element_exprs)
        elements.push_back(eval(element));
      return bounded(expression, Value::tuple(std::move(elements)));
    }
    case JsonNode::Kind::object:
      return json_object(expression);
  }
  return {};
}

Value Evaluator::json_string(std::string_view text, Span span, const File& file) {
  if (context_ == nullptr) return Value::string(text);
  Position origin = file.source().position(span.begin);
  ++origin.byte;  // behind the quote
  ++origin.column;
  Parsed parsed = parse_template(file.source().file_name(), std::string{text}, origin);
  if (!parsed.ok()) {
    errors_ += parsed.diagnostics.size();
    append(diagnostics_, std::move(parsed.diagnostics));
    return {};
  }
  return eval(*parsed.file->expression());
}

Value Evaluator::json_object(const JsonExpr& expression) {
  constexpr const char* invalid_key = "Invalid object key expression";
  Value::Entries entries;
  std::vector<std::pair<std::string, Span>> defined;
  bool known = true;
  for (const JsonProperty& property : expression.node->properties) {
    const Value key = json_string(property.name, property.name_span, *expression.file);
    Value value = eval(property.value_expr);
    const Converted text = convert(key, Type::string());
    if (const auto* wrong = std::get_if<ConversionError>(&text)) {
      error(expression, property.name_span, invalid_key,
            "Cannot use this expression as an object key: " + wrong->message + ".");
      continue;
    }
    const Value& name = std::get<Value>(text);
    if (name.is_null()) {
      error(expression, property.name_span, invalid_key, "Cannot use null value as an object key.");
      continue;
    }
    if (name.is_unknown()) {
      known = false;
      continue;
    }
    entries.emplace_back(name.as_string(), std::move(value));
    defined.emplace_back(name.as_string(), property.name_span);
  }
  if (!known) return {};
  report_duplicates(expression, defined, entries);
  return bounded(expression, Value::object(std::move(entries)));
}

/// Of entries with the same name the first counts; the others are errors.
void Evaluator::report_duplicates(const JsonExpr& expression,
                                  const std::vector<std::pair<std::string, Span>>& defined,
                                  Value::Entries& entries) {
  std::unordered_map<std::string_view, std::size_t> first;
  Value::Entries kept;
  for (std::size_t i = 0; i < defined.size(); ++i) {
    const auto [at, fresh] = first.emplace(defined[i].first, i);
    if (fresh) {
      kept.push_back(std::move(entries[i]));
      continue;
    }
    error(expression, defined[i].second, "Duplicate object attribute",
          "An attribute named " + quoted(defined[i].first) + " was already defined at "
              + expression.file->source().range(defined[at->second].second).to_string() + ".");
  }
  entries = std::move(kept);
}

}  // namespace nomad::hcl
