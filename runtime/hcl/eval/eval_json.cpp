// Values of JSON files: strings are templates wherever there is a context to evaluate them in, and
// the file is none of HCL1.
#include <unordered_map>

#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/evaluator.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "runtime/hcl/value/convert.hpp"

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
  if (context_ == nullptr || file.source().syntax() == Syntax::hcl1_json)
    return Value::string(text);
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
  std::unordered_map<std::string, Span> defined;
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
    const auto [first, fresh] = defined.emplace(name.as_string(), property.name_span);
    if (fresh)
      entries.emplace_back(name.as_string(), std::move(value));
    else
      error(expression, property.name_span, "Duplicate object attribute",
            "An attribute named " + quote(name.as_string()) + " was already defined at "
                + expression.file->source().range(first->second).to_string() + ".");
  }
  return known ? bounded(expression, Value::object(std::move(entries))) : Value{};
}

}  // namespace nomad::hcl
