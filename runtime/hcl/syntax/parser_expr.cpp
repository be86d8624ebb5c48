// Operators, terms and what follows a term.
#include <algorithm>

#include "runtime/hcl/syntax/parser_impl.hpp"

namespace nomad::hcl {

namespace {

struct Operator {
  BinaryOp op;
  int level;  // the higher the tighter; 0 is no operator
};

Operator binary_operator(TokenType type) {
  switch (type) {
    case TokenType::logical_or:
      return {BinaryOp::logical_or, 1};
    case TokenType::logical_and:
      return {BinaryOp::logical_and, 2};
    case TokenType::equal_op:
      return {BinaryOp::equal, 3};
    case TokenType::not_equal:
      return {BinaryOp::not_equal, 3};
    case TokenType::greater:
      return {BinaryOp::greater, 4};
    case TokenType::greater_equal:
      return {BinaryOp::greater_equal, 4};
    case TokenType::less:
      return {BinaryOp::less, 4};
    case TokenType::less_equal:
      return {BinaryOp::less_equal, 4};
    case TokenType::plus:
      return {BinaryOp::add, 5};
    case TokenType::minus:
      return {BinaryOp::subtract, 5};
    case TokenType::star:
      return {BinaryOp::multiply, 6};
    case TokenType::slash:
      return {BinaryOp::divide, 6};
    case TokenType::percent:
      return {BinaryOp::modulo, 6};
    default:
      return {BinaryOp::add, 0};
  }
}

}  // namespace

const Expression* Parser::parse_expression() {
  const Token first = peek();
  if (depth_ >= max_height) {
    too_deep(first.span());
    return placeholder(first.span());
  }
  ++depth_;
  const auto leave = [this](const Expression* out) {
    --depth_;
    return out;
  };
  std::size_t before = mark();
  ConditionalExpr node{};
  node.kind = ExprKind::conditional;
  node.condition = parse_binary(1);
  if ((recovering_ && failed_since(before)) || peek().type != TokenType::question)
    return leave(node.condition);
  read();
  before = mark();
  node.if_true = parse_expression();
  if (recovering_ && failed_since(before)) return leave(node.condition);
  const Token colon = peek();
  if (colon.type != TokenType::colon) {
    error(colon.span(), "Missing false expression in conditional",
          "The conditional operator (...?...:...) requires a false expression, delimited by a "
          "colon.");
    return leave(node.condition);
  }
  read();
  before = mark();
  node.if_false = parse_expression();
  if (recovering_ && failed_since(before)) return leave(node.condition);
  return leave(make(node, cover(first.span(), node.if_false->span),
                    {node.condition, node.if_true, node.if_false}));
}

const Expression* Parser::parse_binary(int level) {
  const std::size_t before = mark();
  const Expression* left = parse_with_traversals();
  if (recovering_ && failed_since(before)) return left;
  for (;;) {
    const Operator next = binary_operator(peek().type);
    if (next.level < level) return left;
    read();
    const std::size_t before_right = mark();
    const Expression* right = parse_binary(next.level + 1);
    if (recovering_ && failed_since(before_right)) return left;
    BinaryExpr node{};
    node.kind = ExprKind::binary;
    node.op = next.op;
    node.left = left;
    node.right = right;
    left = make(node, cover(left->span, right->span), {left, right});
  }
}

const Expression* Parser::parse_with_traversals() {
  return parse_traversals(parse_term());
}

/// A term and what was read after it so far. Steps are gathered and become one node at the end.
class Parser::Chain {
public:
  Chain(Parser& parser, const Expression* from)
      : parser_{parser}, from_{from}, base_{from}, end_{from->span} {}

  void add(Step step) {
    steps_.push_back(step);
    end_ = step.span;
  }

  /// What stands there so far, as one node.
  const Expression* node() {
    if (steps_.empty()) return base_;
    const Span span = cover(base_->span, end_);
    if (base_->kind == ExprKind::variable) {
      VariableExpr node = as<VariableExpr>(*base_);
      steps_.insert(steps_.begin(), node.steps.begin(), node.steps.end());
      node.steps = parser_.builder_.arena().copy(steps_);
      base_ = parser_.make(node, span);
    } else {
      RelativeExpr node{};
      node.kind = ExprKind::relative;
      node.source = base_;
      node.steps = parser_.builder_.arena().copy(steps_);
      base_ = parser_.make(node, span, {node.source});
    }
    steps_.clear();
    return base_;
  }

  void replace(const Expression* node) {
    base_ = node;
    end_ = node->span;
  }

  const Expression* from() const { return from_; }

private:
  Parser& parser_;
  const Expression* from_;
  const Expression* base_;
  Span end_;
  std::vector<Step> steps_;
};

const Expression* Parser::parse_traversals(const Expression* from) {
  for (Chain chain{*this, from};;) {
    switch (peek().type) {
      case TokenType::dot:
        parse_dot(chain);
        break;
      case TokenType::open_bracket:
        parse_bracket(chain);
        break;
      default:
        return chain.node();
    }
  }
}

const Value* Parser::number_value(Token token) {
  auto number = Number::parse(text(token));
  if (!number) {
    error(token.span(), "Invalid number literal",
          "Failed to recognize the value of this number literal.");
    return builder_.arena().keep(Value::unknown(Type::number()));
  }
  return builder_.arena().keep(Value::number(std::move(*number)));
}

/// The number in `a.0`. In `a.0.1` the lexer sees one fraction, which is refused at `at`.
Step Parser::legacy_index(Token dot, Span at, bool splat) {
  const Token number = read();
  Step step{Step::Kind::index, cover(dot.span(), number.span()), {}, nullptr};
  const std::string_view digits = text(number);
  const std::size_t point = digits.find('.');
  if (point == std::string_view::npos) {
    step.key = number_value(number);
    return step;
  }
  error(
      at, "Invalid legacy index syntax",
      "When using the legacy index syntax, chaining two indexes together is not permitted. Use the "
      "proper index syntax "
          + std::string{splat ? "with a full splat expression [*] " : ""} + "instead, like ["
          + std::string{digits.substr(0, point)} + "][" + std::string{digits.substr(point + 1)}
          + "].");
  step.key = builder_.arena().keep(Value{});
  return step;
}

void Parser::parse_dot(Chain& chain) {
  const Token dot = read();
  const Token next = peek();
  switch (next.type) {
    case TokenType::identifier:
      read();
      chain.add({Step::Kind::attribute, cover(dot.span(), next.span()), text(next), nullptr});
      return;
    case TokenType::number:
      chain.add(legacy_index(dot, next.span(), false));
      return;
    case TokenType::star:
      parse_attribute_splat(chain, dot);
      return;
    default:
      error(next.span(), "Invalid attribute name", "An attribute name is required after a dot.");
      recovering_ = true;
  }
}

/// The attributes (and legacy indexes) after `.*`, which apply to each element.
bool Parser::parse_splat_steps(Span star, std::vector<Step>& steps, Span& last) {
  while (peek().type == TokenType::dot) {
    const Token dot = read();
    const Token next = peek();
    if (next.type == TokenType::number) {
      steps.push_back(legacy_index(dot, star, true));
    } else if (next.type == TokenType::identifier) {
      read();
      steps.push_back({Step::Kind::attribute, cover(dot.span(), next.span()), text(next), nullptr});
    } else {
      if (next.type == TokenType::star)
        quiet_error(next.span(), "Nested splat expression not allowed",
                    "A splat expression (*) cannot be used inside another attribute-only splat "
                    "expression.");
      else
        quiet_error(star, "Invalid attribute name", "An attribute name is required after a dot.");
      recovering_ = true;
      return false;
    }
    last = next.span();
  }
  return true;
}

void Parser::parse_attribute_splat(Chain& chain, Token dot) {
  const Token star = read();
  const Span marker = cover(dot.span(), star.span());
  const Span first = peek().span();
  Span last = star.span();
  std::vector<Step> steps;
  if (!parse_splat_steps(star.span(), steps, last)) return;
  SplatItemExpr item{};
  item.kind = ExprKind::splat_item;
  const Expression* item_expr = make(item, marker);
  SplatExpr node{};
  node.kind = ExprKind::splat;
  node.source = chain.node();
  node.item = static_cast<const SplatItemExpr*>(item_expr);
  node.each = item_expr;
  node.marker = marker;
  if (!steps.empty()) {
    RelativeExpr each{};
    each.kind = ExprKind::relative;
    each.source = item_expr;
    each.steps = builder_.arena().copy(steps);
    node.each = make(each, cover(first, last), {item_expr});
  }
  chain.replace(make(node, cover(chain.from()->span, last), {node.source, node.each}));
}

/// `[*]` and everything after it, which applies to each element.
void Parser::parse_full_splat(Chain& chain, Token open) {
  read();
  Token close = read();
  if (close.type != TokenType::close_bracket && !recovering_) {
    close = recover(TokenType::close_bracket);
    error(close.span(), "Missing close bracket on splat index",
          "The star for a full splat operator must be immediately followed by a closing bracket "
          "(\"]\").");
    close = recover(TokenType::close_bracket);
  }
  if (depth_ >= max_height) {
    too_deep(open.span());
    return;
  }
  const Span marker = cover(open.span(), close.span());
  SplatItemExpr item{};
  item.kind = ExprKind::splat_item;
  const Expression* item_expr = make(item, marker);
  SplatExpr node{};
  node.kind = ExprKind::splat;
  node.source = chain.node();
  node.item = static_cast<const SplatItemExpr*>(item_expr);
  node.marker = marker;
  ++depth_;
  node.each = parse_traversals(item_expr);
  --depth_;
  chain.replace(make(node, cover(chain.from()->span, node.each->span), {node.source, node.each}));
}

void Parser::parse_bracket(Chain& chain) {
  const Token open = read();
  if (peek().type == TokenType::star) return parse_full_splat(chain, open);
  const IgnoreNewlines ignore{*this};
  const std::size_t before = mark();
  const Expression* key = parse_expression();
  Token close = open;
  if (recovering_ && failed_since(before)) {
    close = recover(TokenType::close_bracket);
  } else {
    close = read();
    if (close.type != TokenType::close_bracket && !recovering_) {
      close = recover(TokenType::close_bracket);
      error(close.span(), "Missing close bracket on index",
            "The index operator must end with a closing bracket (\"]\").");
    }
  }
  const Span brackets = cover(open.span(), close.span());
  const Expression* constant = key;
  if (key->kind == ExprKind::template_text && as<TemplateExpr>(*key).parts.size() == 1)
    constant = as<TemplateExpr>(*key).parts.front();
  if (constant->kind == ExprKind::literal) {
    chain.add({Step::Kind::index, brackets, {}, as<LiteralExpr>(*constant).value});
    return;
  }
  IndexExpr node{};
  node.kind = ExprKind::index;
  node.collection = chain.node();
  node.key = key;
  node.open_bracket = open.span();
  node.brackets = brackets;
  chain.replace(make(node, cover(chain.from()->span, brackets), {node.collection, key}));
}

}  // namespace nomad::hcl
