#include "runtime/hcl/syntax/expression_parser.hpp"

#include <algorithm>

#include "runtime/hcl/syntax/collection_parser.hpp"
#include "runtime/hcl/syntax/template_parser.hpp"

namespace nomad::hcl {

namespace {

struct Operator {
  TokenType type;
  BinaryOp op;
  int level;  // the higher the tighter; 0 is no operator
};

constexpr Operator operators[] = {{TokenType::logical_or, BinaryOp::logical_or, 1},
                                  {TokenType::logical_and, BinaryOp::logical_and, 2},
                                  {TokenType::equal_op, BinaryOp::equal, 3},
                                  {TokenType::not_equal, BinaryOp::not_equal, 3},
                                  {TokenType::greater, BinaryOp::greater, 4},
                                  {TokenType::greater_equal, BinaryOp::greater_equal, 4},
                                  {TokenType::less, BinaryOp::less, 4},
                                  {TokenType::less_equal, BinaryOp::less_equal, 4},
                                  {TokenType::plus, BinaryOp::add, 5},
                                  {TokenType::minus, BinaryOp::subtract, 5},
                                  {TokenType::star, BinaryOp::multiply, 6},
                                  {TokenType::slash, BinaryOp::divide, 6},
                                  {TokenType::percent, BinaryOp::modulo, 6}};

Operator binary_operator(TokenType type) {
  for (const auto& candidate : operators)
    if (candidate.type == type) return candidate;
  return {type, BinaryOp::add, 0};
}

}  // namespace

const Expression* ExpressionParser::parse() {
  const Token first = in_.peek();
  if (in_.is_full_depth()) {
    in_.too_deep(first.span());
    return in_.placeholder(first.span());
  }
  in_.enter();
  const auto leave = [this](const Expression* out) {
    in_.leave();
    return out;
  };
  std::size_t before = in_.mark();
  ConditionalExpr node{};
  node.condition = parse_binary(1);
  if ((in_.recovering_since(before)) || in_.peek().type != TokenType::question)
    return leave(node.condition);
  in_.read();
  before = in_.mark();
  node.if_true = parse();
  if (in_.recovering_since(before)) return leave(node.condition);
  const Token colon = in_.peek();
  if (colon.type != TokenType::colon) {
    in_.error(colon.span(), "Missing false expression in conditional",
              "The conditional operator (...?...:...) requires a false expression, delimited by a "
              "colon.");
    return leave(node.condition);
  }
  in_.read();
  before = in_.mark();
  node.if_false = parse();
  if (in_.recovering_since(before)) return leave(node.condition);
  return leave(in_.make(node, cover(first.span(), node.if_false->span),
                        {node.condition, node.if_true, node.if_false}));
}

const Expression* ExpressionParser::parse_binary(int level) {
  const std::size_t before = in_.mark();
  const Expression* left = parse_with_traversals();
  if (in_.recovering_since(before)) return left;
  for (;;) {
    const Operator next = binary_operator(in_.peek().type);
    if (next.level < level) return left;
    in_.read();
    const std::size_t before_right = in_.mark();
    const Expression* right = parse_binary(next.level + 1);
    if (in_.recovering_since(before_right)) return left;
    BinaryExpr node{};
    node.op = next.op;
    node.left = left;
    node.right = right;
    left = in_.make(node, cover(left->span, right->span), {left, right});
  }
}

const Expression* ExpressionParser::parse_with_traversals() {
  return parse_traversals(parse_term());
}

/// A term and what was read after it so far. Steps are gathered and become one node at the end.
class ExpressionParser::Chain {
public:
  Chain(TokenReader& in, const Expression* from)
      : in_{in}, from_{from}, base_{from}, end_{from->span} {}

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
      node.steps = in_.arena().copy(steps_);
      base_ = in_.make(node, span);
    } else {
      RelativeExpr node{};
      node.source = base_;
      node.steps = in_.arena().copy(steps_);
      base_ = in_.make(node, span, {node.source});
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
  TokenReader& in_;
  const Expression* from_;
  const Expression* base_;
  Span end_;
  std::vector<Step> steps_;
};

const Expression* ExpressionParser::parse_traversals(const Expression* from) {
  for (Chain chain{in_, from};;) {
    switch (in_.peek().type) {
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

const Value* ExpressionParser::number_value(Token token) {
  auto number = Number::parse(in_.text(token));
  if (!number) {
    in_.error(token.span(), "Invalid number literal",
              "Failed to recognize the value of this number literal.");
    return in_.arena().keep(Value::unknown(Type::number()));
  }
  return in_.arena().keep(Value::number(std::move(*number)));
}

/// The number in `a.0`. In `a.0.1` the lexer sees one fraction, which is refused at `at`.
Step ExpressionParser::legacy_index(Token dot, Span at, bool splat) {
  const Token number = in_.read();
  Step step{Step::Kind::index, cover(dot.span(), number.span()), {}, nullptr};
  const std::string_view digits = in_.text(number);
  const std::size_t point = digits.find('.');
  if (point == std::string_view::npos) {
    step.key = number_value(number);
    return step;
  }
  in_.error(
      at, "Invalid legacy index syntax",
      "When using the legacy index syntax, chaining two indexes together is not permitted. Use the "
      "proper index syntax "
          + std::string{splat ? "with a full splat expression [*] " : ""} + "instead, like ["
          + std::string{digits.substr(0, point)} + "][" + std::string{digits.substr(point + 1)}
          + "].");
  step.key = in_.arena().keep(Value{});
  return step;
}

void ExpressionParser::parse_dot(Chain& chain) {
  const Token dot = in_.read();
  const Token next = in_.peek();
  switch (next.type) {
    case TokenType::identifier:
      in_.read();
      chain.add({Step::Kind::attribute, cover(dot.span(), next.span()), in_.text(next), nullptr});
      return;
    case TokenType::number:
      chain.add(legacy_index(dot, next.span(), false));
      return;
    case TokenType::star:
      parse_attribute_splat(chain, dot);
      return;
    default:
      in_.error(next.span(), "Invalid attribute name",
                "An attribute name is required after a dot.");
      in_.start_recovering();
  }
}

/// The attributes (and legacy indexes) after `.*`, which apply to each element.
bool ExpressionParser::parse_splat_steps(Span star, std::vector<Step>& steps, Span& last) {
  while (in_.peek().type == TokenType::dot) {
    const Token dot = in_.read();
    const Token next = in_.peek();
    if (next.type == TokenType::number) {
      steps.push_back(legacy_index(dot, star, true));
    } else if (next.type == TokenType::identifier) {
      in_.read();
      steps.push_back(
          {Step::Kind::attribute, cover(dot.span(), next.span()), in_.text(next), nullptr});
    } else {
      if (next.type == TokenType::star)
        in_.quiet_error(next.span(), "Nested splat expression not allowed",
                        "A splat expression (*) cannot be used inside another attribute-only splat "
                        "expression.");
      else
        in_.quiet_error(star, "Invalid attribute name",
                        "An attribute name is required after a dot.");
      in_.start_recovering();
      return false;
    }
    last = next.span();
  }
  return true;
}

void ExpressionParser::parse_attribute_splat(Chain& chain, Token dot) {
  const Token star = in_.read();
  const Span marker = cover(dot.span(), star.span());
  const Span first = in_.peek().span();
  Span last = star.span();
  std::vector<Step> steps;
  if (!parse_splat_steps(star.span(), steps, last)) return;
  SplatItemExpr item{};
  const Expression* item_expr = in_.make(item, marker);
  SplatExpr node{};
  node.source = chain.node();
  node.item = static_cast<const SplatItemExpr*>(item_expr);
  node.each = item_expr;
  node.marker = marker;
  if (!steps.empty()) {
    RelativeExpr each{};
    each.source = item_expr;
    each.steps = in_.arena().copy(steps);
    node.each = in_.make(each, cover(first, last), {item_expr});
  }
  chain.replace(in_.make(node, cover(chain.from()->span, last), {node.source, node.each}));
}

/// `[*]` and everything after it, which applies to each element.
void ExpressionParser::parse_full_splat(Chain& chain, Token open) {
  in_.read();
  Token close = in_.read();
  if (close.type != TokenType::close_bracket && !in_.is_recovering()) {
    close = in_.recover(TokenType::close_bracket);
    in_.error(
        close.span(), "Missing close bracket on splat index",
        "The star for a full splat operator must be immediately followed by a closing bracket "
        "(\"]\").");
    close = in_.recover(TokenType::close_bracket);
  }
  if (in_.is_full_depth()) {
    in_.too_deep(open.span());
    return;
  }
  const Span marker = cover(open.span(), close.span());
  SplatItemExpr item{};
  const Expression* item_expr = in_.make(item, marker);
  SplatExpr node{};
  node.source = chain.node();
  node.item = static_cast<const SplatItemExpr*>(item_expr);
  node.marker = marker;
  in_.enter();
  node.each = parse_traversals(item_expr);
  in_.leave();
  chain.replace(
      in_.make(node, cover(chain.from()->span, node.each->span), {node.source, node.each}));
}

void ExpressionParser::parse_bracket(Chain& chain) {
  const Token open = in_.read();
  if (in_.peek().type == TokenType::star) return parse_full_splat(chain, open);
  const TokenReader::IgnoreNewlines ignore{in_};
  const std::size_t before = in_.mark();
  const Expression* key = parse();
  Token close = open;
  if (in_.recovering_since(before)) {
    close = in_.recover(TokenType::close_bracket);
  } else {
    close = in_.read();
    if (close.type != TokenType::close_bracket && !in_.is_recovering()) {
      close = in_.recover(TokenType::close_bracket);
      in_.error(close.span(), "Missing close bracket on index",
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
  node.collection = chain.node();
  node.key = key;
  node.open_bracket = open.span();
  node.brackets = brackets;
  chain.replace(in_.make(node, cover(chain.from()->span, brackets), {node.collection, key}));
}

const Expression* ExpressionParser::parse_term() {
  const Token first = in_.peek();
  switch (first.type) {
    case TokenType::open_paren:
      return parse_parentheses();
    case TokenType::number: {
      in_.read();
      LiteralExpr node{};
      node.value = number_value(first);
      return in_.make(node, first.span());
    }
    case TokenType::identifier:
      return parse_name();
    case TokenType::open_quote:
    case TokenType::open_heredoc:
      return TemplateParser{in_}.parse_string();
    case TokenType::minus:
      return parse_unary(UnaryOp::negate);
    case TokenType::bang:
      return parse_unary(UnaryOp::logical_not);
    case TokenType::open_bracket:
      return CollectionParser{in_}.parse_tuple();
    case TokenType::open_brace:
      return CollectionParser{in_}.parse_object();
    default:
      in_.quiet_error(
          first.span(), "Invalid expression",
          "Expected the start of an expression, but found an invalid expression token.");
      in_.start_recovering();
      return in_.placeholder(first.span());
  }
}

const Expression* ExpressionParser::parse_parentheses() {
  const Token open = in_.read();
  const TokenReader::IgnoreNewlines ignore{in_};
  const std::size_t before = in_.mark();
  const Expression* inner = parse();
  if (in_.failed_since(before)) {
    in_.recover(TokenType::close_paren);
    return inner;
  }
  const Token close = in_.peek();
  if (close.type != TokenType::close_paren) {
    in_.error(close.span(), "Unbalanced parentheses",
              "Expected a closing parenthesis to terminate the expression.");
    in_.start_recovering();
  }
  in_.read();
  ParenthesesExpr node{};
  node.inner = inner;
  return in_.make(node, cover(open.span(), close.span()), {inner});
}

const Expression* ExpressionParser::parse_name() {
  const Token name = in_.read();
  if (in_.peek().type == TokenType::open_paren) return parse_call(name);
  const std::string_view word = in_.text(name);
  if (word == "true" || word == "false")
    return in_.literal(Value::boolean(word == "true"), name.span());
  if (word == "null") return in_.literal(Value::null(), name.span());
  VariableExpr node{};
  node.steps = in_.arena().one(Step{Step::Kind::root, name.span(), word, nullptr});
  return in_.make(node, name.span());
}

const Expression* ExpressionParser::parse_unary(UnaryOp op) {
  const Token symbol = in_.read();
  if (in_.is_full_depth()) {
    in_.too_deep(symbol.span());
    return in_.placeholder(symbol.span());
  }
  in_.enter();
  UnaryExpr node{};
  node.op = op;
  node.operand = parse_with_traversals();
  node.symbol = symbol.span();
  in_.leave();
  return in_.make(node, cover(symbol.span(), node.operand->span), {node.operand});
}

const Expression* ExpressionParser::parse_call(Token name) {
  const Token open = in_.read();
  Token close = open;
  std::vector<const Expression*> args;
  CallExpr node{};
  const TokenReader::IgnoreNewlines ignore{in_};
  for (;;) {
    if (in_.peek().type == TokenType::close_paren) {
      close = in_.read();
      break;
    }
    const std::size_t before = in_.mark();
    args.push_back(parse());
    if (in_.recovering_since(before)) {
      in_.recover(TokenType::close_paren);
      break;
    }
    const Token separator = in_.read();
    if (separator.type == TokenType::close_paren) {
      close = separator;
      break;
    }
    if (separator.type == TokenType::ellipsis) {
      node.expand_final = true;
      if (in_.peek().type == TokenType::close_paren) {
        close = in_.read();
      } else {
        in_.quiet_error(
            separator.span(), "Missing closing parenthesis",
            "An expanded function argument (with ...) must be immediately followed by closing "
            "parentheses.");
        close = in_.recover(TokenType::close_paren);
      }
      break;
    }
    if (separator.type != TokenType::comma) {
      in_.error(separator.span(), "Missing argument separator",
                "A comma is required to separate each function argument from the next.");
      close = in_.recover(TokenType::close_paren);
      break;
    }
  }
  node.name = in_.text(name);
  node.args = in_.arena().copy(args);
  node.name_span = name.span();
  node.open_paren = open.span();
  node.close_paren = close.span();
  return in_.make_over(node, cover(name.span(), close.span()), args);
}

const Expression* ExpressionParser::parse_whole() {
  const TokenReader::IgnoreNewlines ignore{in_};
  const Expression* out = parse();
  const Token next = in_.peek();
  if (next.type != TokenType::end_of_file)
    in_.quiet_error(
        next.span(), "Extra characters after expression",
        "An expression was successfully parsed, but extra characters were found after it.");
  return out;
}

}  // namespace nomad::hcl
