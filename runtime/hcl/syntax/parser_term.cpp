// Terms: literals, names, calls, tuples, objects and `for`.
#include "runtime/hcl/syntax/parser_impl.hpp"

namespace nomad::hcl {

const Expression* Parser::parse_term() {
  const Token first = peek();
  switch (first.type) {
    case TokenType::open_paren:
      return parse_parentheses();
    case TokenType::number: {
      read();
      LiteralExpr node{};
      node.kind = ExprKind::literal;
      node.value = number_value(first);
      return make(node, first.span());
    }
    case TokenType::identifier:
      return parse_name();
    case TokenType::open_quote:
    case TokenType::open_heredoc:
      return parse_string();
    case TokenType::minus:
      return parse_unary(UnaryOp::negate);
    case TokenType::bang:
      return parse_unary(UnaryOp::logical_not);
    case TokenType::open_bracket:
      return parse_tuple();
    case TokenType::open_brace:
      return parse_object();
    default:
      quiet_error(first.span(), "Invalid expression",
                  "Expected the start of an expression, but found an invalid expression token.");
      recovering_ = true;
      return placeholder(first.span());
  }
}

const Expression* Parser::parse_parentheses() {
  const Token open = read();
  const IgnoreNewlines ignore{*this};
  const std::size_t before = mark();
  const Expression* inner = parse_expression();
  if (failed_since(before)) {
    recover(TokenType::close_paren);
    return inner;
  }
  const Token close = peek();
  if (close.type != TokenType::close_paren) {
    error(close.span(), "Unbalanced parentheses",
          "Expected a closing parenthesis to terminate the expression.");
    recovering_ = true;
  }
  read();
  ParenthesesExpr node{};
  node.kind = ExprKind::parentheses;
  node.inner = inner;
  return make(node, cover(open.span(), close.span()), {inner});
}

const Expression* Parser::parse_name() {
  const Token name = read();
  if (peek().type == TokenType::open_paren) return parse_call(name);
  const std::string_view word = text(name);
  if (word == "true" || word == "false")
    return literal(Value::boolean(word == "true"), name.span());
  if (word == "null") return literal(Value::null(), name.span());
  VariableExpr node{};
  node.kind = ExprKind::variable;
  node.steps = builder_.arena().one(Step{Step::Kind::root, name.span(), word, nullptr});
  return make(node, name.span());
}

const Expression* Parser::parse_unary(UnaryOp op) {
  const Token symbol = read();
  if (depth_ >= max_height) {
    too_deep(symbol.span());
    return placeholder(symbol.span());
  }
  ++depth_;
  UnaryExpr node{};
  node.kind = ExprKind::unary;
  node.op = op;
  node.operand = parse_with_traversals();
  node.symbol = symbol.span();
  --depth_;
  return make(node, cover(symbol.span(), node.operand->span), {node.operand});
}

const Expression* Parser::parse_call(Token name) {
  const Token open = read();
  Token close = open;
  std::vector<const Expression*> args;
  CallExpr node{};
  const IgnoreNewlines ignore{*this};
  for (;;) {
    if (peek().type == TokenType::close_paren) {
      close = read();
      break;
    }
    const std::size_t before = mark();
    args.push_back(parse_expression());
    if (recovering_ && failed_since(before)) {
      recover(TokenType::close_paren);
      break;
    }
    const Token separator = read();
    if (separator.type == TokenType::close_paren) {
      close = separator;
      break;
    }
    if (separator.type == TokenType::ellipsis) {
      node.expand_final = true;
      if (peek().type == TokenType::close_paren) {
        close = read();
      } else {
        quiet_error(
            separator.span(), "Missing closing parenthesis",
            "An expanded function argument (with ...) must be immediately followed by closing "
            "parentheses.");
        close = recover(TokenType::close_paren);
      }
      break;
    }
    if (separator.type != TokenType::comma) {
      error(separator.span(), "Missing argument separator",
            "A comma is required to separate each function argument from the next.");
      close = recover(TokenType::close_paren);
      break;
    }
  }
  node.kind = ExprKind::call;
  node.name = text(name);
  node.args = builder_.arena().copy(args);
  node.name_span = name.span();
  node.open_paren = open.span();
  node.close_paren = close.span();
  return make_over(node, cover(name.span(), close.span()), args);
}

const Expression* Parser::parse_tuple() {
  const Token open = read();
  const IgnoreNewlines ignore{*this};
  if (at_keyword("for")) return parse_for(open);
  Token close = open;
  std::vector<const Expression*> elements;
  for (;;) {
    if (peek().type == TokenType::close_bracket) {
      close = read();
      break;
    }
    const std::size_t before = mark();
    elements.push_back(parse_expression());
    if (recovering_ && failed_since(before)) {
      close = recover(TokenType::close_bracket);
      break;
    }
    const Token next = peek();
    if (next.type == TokenType::close_bracket) {
      close = read();
      break;
    }
    if (next.type != TokenType::comma) {
      quiet_error(next.span(), "Missing item separator",
                  "Expected a comma to mark the beginning of the next item.");
      close = recover(TokenType::close_bracket);
      break;
    }
    read();
  }
  TupleExpr node{};
  node.kind = ExprKind::tuple;
  node.elements = builder_.arena().copy(elements);
  node.open = open.span();
  return make_over(node, cover(open.span(), close.span()), elements);
}

const Expression* Parser::parse_object() {
  const Token open = read();
  {
    const IgnoreNewlines ignore{*this};  // `for` may stand on the next line
    if (at_keyword("for")) return parse_for(open);
  }
  const SeeNewlines see{*this};
  Token close = open;
  std::vector<ObjectItem> items;
  std::vector<const Expression*> children;
  for (bool more = true; more;) {
    const Token next = peek();
    if (next.type == TokenType::newline) {
      read();
    } else if (next.type == TokenType::close_brace) {
      close = read();
      more = false;
    } else {
      more = parse_object_item(items, close);
    }
  }
  for (const ObjectItem& item : items) {
    children.push_back(item.key);
    children.push_back(item.value);
  }
  ObjectExpr node{};
  node.kind = ExprKind::object;
  node.items = builder_.arena().copy(items);
  node.open = open.span();
  return make_over(node, cover(open.span(), close.span()), children);
}

/// One item with its separator; false when the object ended, with `close` as its last token.
bool Parser::parse_object_item(std::vector<ObjectItem>& items, Token& close) {
  const bool force_expression = peek().type == TokenType::open_paren;
  const auto give_up = [&] {
    close = recover(TokenType::close_brace);
    return false;
  };
  std::size_t before = mark();
  const Expression* wrapped = parse_expression();
  if (recovering_ && failed_since(before)) return give_up();
  ObjectKeyExpr key{};
  key.kind = ExprKind::object_key;
  key.wrapped = wrapped;
  key.force_expression = force_expression;
  Token next = peek();
  if (next.type != TokenType::equal && next.type != TokenType::colon) {
    report_missing_separator(next);
    return give_up();
  }
  read();
  before = mark();
  const Expression* value = parse_expression();
  if (recovering_ && failed_since(before)) return give_up();
  items.push_back({make(key, wrapped->span, {wrapped}), value});
  next = peek();
  if (next.type == TokenType::close_brace) {
    close = read();
    return false;
  }
  if (next.type != TokenType::comma && next.type != TokenType::newline) {
    quiet_error(next.span(), "Missing attribute separator",
                "Expected a newline or comma to mark the beginning of the next attribute.");
    return give_up();
  }
  read();
  return true;
}

void Parser::report_missing_separator(Token next) {
  if (next.type == TokenType::newline || next.type == TokenType::comma)
    quiet_error(next.span(), "Missing attribute value",
                "Expected an attribute value, introduced by an equals sign (\"=\").");
  else if (next.type == TokenType::identifier)
    quiet_error(
        next.span(), "Missing key/value separator",
        "Expected an equals sign (\"=\") to mark the beginning of the attribute value. If you "
        "intended to given an attribute name containing periods or spaces, write the name in "
        "quotes to create a string literal.");
  else
    quiet_error(next.span(), "Missing key/value separator",
                "Expected an equals sign (\"=\") to mark the beginning of the attribute value.");
}

namespace {

constexpr const char* invalid_for = "Invalid 'for' expression";

}  // namespace

const Expression* Parser::abandon_for(Token open) {
  const Token close = recover(opposite(open.type));
  return placeholder(cover(open.span(), close.span()));
}

bool Parser::parse_for_names(std::string_view& key, std::string_view& value) {
  if (peek().type != TokenType::identifier) {
    quiet_error(peek().span(), invalid_for, "For expression requires variable name after 'for'.");
    return false;
  }
  value = text(read());
  if (peek().type == TokenType::comma) {
    key = value;
    read();
    if (peek().type != TokenType::identifier) {
      quiet_error(peek().span(), invalid_for,
                  "For expression requires value variable name after comma.");
      return false;
    }
    value = text(read());
  }
  if (!at_keyword("in")) {
    quiet_error(peek().span(), invalid_for,
                "For expression requires the 'in' keyword after its name declarations.");
    return false;
  }
  read();
  return true;
}

const Expression* Parser::parse_for(Token open) {
  const IgnoreNewlines ignore{*this};
  read();
  ForExpr node{};
  node.kind = ExprKind::for_loop;
  if (!parse_for_names(node.key_name, node.value_name)) return abandon_for(open);
  std::size_t before = mark();
  node.collection = parse_expression();
  if (recovering_ && failed_since(before)) return abandon_for(open);
  if (peek().type != TokenType::colon) {
    quiet_error(peek().span(), invalid_for,
                "For expression requires a colon after the collection expression.");
    return abandon_for(open);
  }
  read();
  before = mark();
  node.value = parse_expression();
  if (peek().type == TokenType::fat_arrow) {
    read();
    node.key = node.value;
    node.value = parse_expression();
  }
  if (recovering_ && failed_since(before)) return abandon_for(open);
  Token ellipsis = open;
  if (peek().type == TokenType::ellipsis) {
    ellipsis = read();
    node.group = true;
  }
  if (at_keyword("if")) {
    read();
    before = mark();
    node.condition = parse_expression();
    if (recovering_ && failed_since(before)) return abandon_for(open);
  }
  Token close = open;
  if (peek().type == opposite(open.type)) {
    close = read();
  } else {
    quiet_error(peek().span(), invalid_for,
                "Extra characters after the end of the 'for' expression.");
    close = recover(opposite(open.type));
  }
  check_for(node, open, ellipsis);
  node.open = open.span();
  node.close = close.span();
  std::vector<const Expression*> children{node.collection, node.value};
  for (const Expression* optional : {node.key, node.condition})
    if (optional != nullptr) children.push_back(optional);
  return make_over(node, cover(open.span(), close.span()), children);
}

void Parser::check_for(const ForExpr& loop, Token open, Token ellipsis) {
  if (open.type == TokenType::open_brace) {
    if (loop.key == nullptr)
      error(loop.value->span, invalid_for, "Key expression is required when building an object.");
    return;
  }
  if (loop.key != nullptr)
    error(loop.key->span, invalid_for, "Key expression is not valid when building a tuple.");
  if (loop.group)
    error(ellipsis.span(), invalid_for,
          "Grouping ellipsis (...) cannot be used when building a tuple.");
}

}  // namespace nomad::hcl
