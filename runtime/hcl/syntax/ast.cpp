// What can be read off an expression without evaluating it.
#include "runtime/hcl/syntax/ast.hpp"

#include <algorithm>

#include "runtime/hcl/syntax/json_node.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "runtime/hcl/syntax/tree_builder.hpp"

namespace nomad::hcl {

Span start_span(const Expression& expression) {
  switch (expression.kind) {
    case ExprKind::literal:
    case ExprKind::variable:
    case ExprKind::relative:
    case ExprKind::splat_item:
    case ExprKind::template_wrap:
      return expression.span;
    case ExprKind::index:
      return as<IndexExpr>(expression).open_bracket;
    case ExprKind::call:
      return cover(as<CallExpr>(expression).name_span, as<CallExpr>(expression).open_paren);
    case ExprKind::conditional:
      return start_span(*as<ConditionalExpr>(expression).condition);
    case ExprKind::unary:
      return as<UnaryExpr>(expression).symbol;
    case ExprKind::binary:
      return start_span(*as<BinaryExpr>(expression).left);
    case ExprKind::tuple:
      return as<TupleExpr>(expression).open;
    case ExprKind::object:
      return as<ObjectExpr>(expression).open;
    case ExprKind::object_key:
      return start_span(*as<ObjectKeyExpr>(expression).wrapped);
    case ExprKind::for_loop:
      return as<ForExpr>(expression).open;
    case ExprKind::splat:
      return as<SplatExpr>(expression).marker;
    case ExprKind::parentheses:
      return start_span(*as<ParenthesesExpr>(expression).inner);
    case ExprKind::template_text:
      return start_span(*as<TemplateExpr>(expression).parts.front());
    case ExprKind::template_join:
      return start_span(*as<TemplateJoinExpr>(expression).tuple);
    case ExprKind::json:
      return as<JsonExpr>(expression).node->start();
  }
  return expression.span;
}

namespace {

/// Walks an expression, knowing which names its `for` loops bind.
class VariableWalk {
public:
  std::vector<const VariableExpr*> found;

  void walk(const Expression& expression) {
    switch (expression.kind) {
      case ExprKind::literal:
      case ExprKind::splat_item:
      case ExprKind::json:
        return;
      case ExprKind::variable:
        return variable(as<VariableExpr>(expression));
      case ExprKind::relative:
        return walk(*as<RelativeExpr>(expression).source);
      case ExprKind::index:
        walk(*as<IndexExpr>(expression).collection);
        return walk(*as<IndexExpr>(expression).key);
      case ExprKind::call:
        for (const Expression* arg : as<CallExpr>(expression).args)
          walk(*arg);
        return;
      case ExprKind::conditional:
        walk(*as<ConditionalExpr>(expression).condition);
        walk(*as<ConditionalExpr>(expression).if_true);
        return walk(*as<ConditionalExpr>(expression).if_false);
      case ExprKind::unary:
        return walk(*as<UnaryExpr>(expression).operand);
      case ExprKind::binary:
        walk(*as<BinaryExpr>(expression).left);
        return walk(*as<BinaryExpr>(expression).right);
      case ExprKind::tuple:
        for (const Expression* element : as<TupleExpr>(expression).elements)
          walk(*element);
        return;
      case ExprKind::object:
        for (const ObjectItem& item : as<ObjectExpr>(expression).items) {
          walk(*item.key);
          walk(*item.value);
        }
        return;
      case ExprKind::object_key: {
        const auto& key = as<ObjectKeyExpr>(expression);
        if (static_keyword(*key.wrapped).empty()) walk(*key.wrapped);
        return;
      }
      case ExprKind::for_loop:
        return loop(as<ForExpr>(expression));
      case ExprKind::splat:
        walk(*as<SplatExpr>(expression).source);
        return walk(*as<SplatExpr>(expression).each);
      case ExprKind::parentheses:
        return walk(*as<ParenthesesExpr>(expression).inner);
      case ExprKind::template_text:
        for (const Expression* part : as<TemplateExpr>(expression).parts)
          walk(*part);
        return;
      case ExprKind::template_wrap:
        return walk(*as<TemplateWrapExpr>(expression).wrapped);
      case ExprKind::template_join:
        return walk(*as<TemplateJoinExpr>(expression).tuple);
    }
  }

private:
  void variable(const VariableExpr& expression) {
    if (std::find(bound_.begin(), bound_.end(), expression.root_name()) == bound_.end())
      found.push_back(&expression);
  }

  void loop(const ForExpr& expression) {
    walk(*expression.collection);
    const std::size_t before = bound_.size();
    if (!expression.key_name.empty()) bound_.push_back(expression.key_name);
    bound_.push_back(expression.value_name);
    for (const Expression* part : {expression.key, expression.value, expression.condition})
      if (part != nullptr) walk(*part);
    bound_.resize(before);
  }

  std::vector<std::string_view> bound_;
};

}  // namespace

std::vector<const VariableExpr*> referenced_variables(const Expression& expression) {
  VariableWalk walk;
  walk.walk(expression);
  return std::move(walk.found);
}

std::vector<Step> static_traversal(const Expression& expression) {
  switch (expression.kind) {
    case ExprKind::literal: {
      const Value& value = *as<LiteralExpr>(expression).value;
      if (value.is_null()) return {{Step::Kind::root, expression.span, "null", nullptr}};
      if (value.is_bool())
        return {{Step::Kind::root, expression.span, value.as_bool() ? "true" : "false", nullptr}};
      return {};
    }
    case ExprKind::variable: {
      const auto steps = as<VariableExpr>(expression).steps;
      return {steps.begin(), steps.end()};
    }
    case ExprKind::relative: {
      std::vector<Step> out = static_traversal(*as<RelativeExpr>(expression).source);
      const auto steps = as<RelativeExpr>(expression).steps;
      if (!out.empty()) out.insert(out.end(), steps.begin(), steps.end());
      return out;
    }
    case ExprKind::object_key:
      if (as<ObjectKeyExpr>(expression).force_expression) return {};
      return static_traversal(*as<ObjectKeyExpr>(expression).wrapped);
    default:
      return {};
  }
}

std::string static_keyword(const Expression& expression) {
  if (expression.kind == ExprKind::json) {
    const JsonNode& node = *as<JsonExpr>(expression).node;
    return node.kind == JsonNode::Kind::string && is_identifier(node.text) ? std::string{node.text}
                                                                           : "";
  }
  const std::vector<Step> steps = static_traversal(expression);
  return steps.size() == 1 ? std::string{steps.front().name} : "";
}

std::vector<const Expression*> static_list(const Expression& expression) {
  if (expression.kind == ExprKind::tuple) {
    const auto elements = as<TupleExpr>(expression).elements;
    return {elements.begin(), elements.end()};
  }
  if (expression.kind != ExprKind::json) return {};
  std::vector<const Expression*> out;
  for (const JsonExpr& element : as<JsonExpr>(expression).node->element_exprs)
    out.push_back(&element);
  return out;
}

bool is_static_list(const Expression& expression) {
  return expression.kind == ExprKind::tuple
         || (expression.kind == ExprKind::json
             && as<JsonExpr>(expression).node->kind == JsonNode::Kind::array);
}

}  // namespace nomad::hcl
