#include "runtime/hcl/eval/type_expression.hpp"

#include "runtime/base/text.hpp"
#include "runtime/hcl/syntax/json_node.hpp"
#include "runtime/hcl/syntax/parser.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* summary = "Invalid type specification";

class TypeParser {
public:
  TypeParser(bool constraint, Diagnostics& diagnostics)
      : constraint_{constraint}, diagnostics_{diagnostics} {}

  Type parse(const Expression& expression) {
    if (expression.kind == ExprKind::json) return from_json(as<JsonExpr>(expression));
    const std::string keyword = static_keyword(expression);
    if (!keyword.empty()) return from_keyword(expression, keyword);
    if (expression.kind != ExprKind::call)
      return fail(expression, expression.span,
                  "A type specification is either a primitive type keyword (bool, number, string) "
                  "or a complex "
                  "type constructor call, like list(string).");
    return from_call(as<CallExpr>(expression));
  }

private:
  Type fail(const Expression& at, Span span, std::string detail) {
    diagnostics_.push_back(error_at(at.file->source(), span, summary, std::move(detail)));
    return Type::dynamic();
  }

  /// In JSON a type is a string with a type expression in it.
  Type from_json(const JsonExpr& expression) {
    const JsonNode& node = *expression.node;
    if (node.kind == JsonNode::Kind::string) {
      const Source& source = expression.file->source();
      const Parsed parsed = parse_expression(source.file_name(), std::string{node.text},
                                             source.position(node.span.begin));
      if (parsed.ok()) return parse(*parsed.file->expression());
    }
    return fail(expression, expression.span,
                "A type specification is either a primitive type keyword (bool, number, string) or "
                "a complex type "
                "constructor call, like list(string).");
  }

  static std::string one_argument(std::string_view name) {
    if (name == "object")
      return "The object type constructor requires one argument specifying the attribute types and "
             "values as a map.";
    if (name == "tuple")
      return "The tuple type constructor requires one argument specifying the element types as a "
             "list.";
    return "The " + std::string{name}
           + " type constructor requires one argument specifying the element type.";
  }

  static bool is_constructor(std::string_view name) {
    return name == "list" || name == "set" || name == "map" || name == "object" || name == "tuple";
  }

  Type from_keyword(const Expression& expression, std::string_view keyword) {
    if (keyword == "bool") return Type::boolean();
    if (keyword == "string") return Type::string();
    if (keyword == "number") return Type::number();
    if (keyword == "any" && constraint_) return Type::dynamic();
    if (keyword == "any")
      return fail(expression, expression.span,
                  "The keyword \"any\" cannot be used in this type specification: an exact type is "
                  "required.");
    if (is_constructor(keyword)) return fail(expression, expression.span, one_argument(keyword));
    return fail(expression, expression.span,
                "The keyword " + quote(keyword) + " is not a valid type specification.");
  }

  Type from_call(const CallExpr& call) {
    const Span parentheses = cover(call.open_paren, call.close_paren);
    if (call.name == "bool" || call.name == "string" || call.name == "number" || call.name == "any")
      return fail(call, parentheses,
                  "Primitive type keyword " + quote(call.name) + " does not expect arguments.");
    if (!is_constructor(call.name))
      return fail(call, call.span,
                  "Keyword " + quote(call.name) + " is not a valid type constructor.");
    if (call.args.size() != 1)
      return fail(
          call,
          call.args.size() > 1 ? cover(call.args[1]->span, call.args.back()->span) : parentheses,
          one_argument(call.name));
    const Expression& argument = *call.args.front();
    if (call.name == "list") return Type::list(parse(argument));
    if (call.name == "set") return Type::set(parse(argument));
    if (call.name == "map") return Type::map(parse(argument));
    return call.name == "object" ? object(argument) : tuple(argument);
  }

  Type object(const Expression& argument) {
    if (argument.kind != ExprKind::object)
      return fail(argument, argument.span,
                  "Object type constructor requires a map whose keys are attribute names and whose "
                  "values are the "
                  "corresponding attribute types.");
    std::vector<Type::Attribute> attributes;
    for (const ObjectItem& item : as<ObjectExpr>(argument).items) {
      const std::string name = static_keyword(*item.key);
      if (name.empty())
        fail(*item.key, item.key->span, "Object constructor map keys must be attribute names.");
      else
        attributes.emplace_back(name, parse(*item.value));
    }
    return Type::object(std::move(attributes));
  }

  Type tuple(const Expression& argument) {
    if (argument.kind != ExprKind::tuple)
      return fail(argument, argument.span,
                  "Tuple type constructor requires a list of element types.");
    std::vector<Type> elements;
    for (const Expression* element : as<TupleExpr>(argument).elements)
      elements.push_back(parse(*element));
    return Type::tuple(std::move(elements));
  }

  bool constraint_;
  Diagnostics& diagnostics_;
};

}  // namespace

ParsedType parse_type(const Expression& expression, bool constraint) {
  ParsedType out;
  out.type = TypeParser{constraint, out.diagnostics}.parse(expression);
  return out;
}

}  // namespace nomad::hcl
