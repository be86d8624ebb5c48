#include "runtime/hcl/syntax/collection_parser.hpp"

#include "runtime/hcl/syntax/expression_parser.hpp"

namespace nomad::hcl {
namespace {

constexpr const char* invalid_for = "Invalid 'for' expression";

}  // namespace

const Expression* CollectionParser::parse_tuple() {
  const Token open = in_.read();
  const TokenReader::IgnoreNewlines ignore{in_};
  if (in_.at_keyword("for")) return parse_for(open);
  Token close = open;
  std::vector<const Expression*> elements;
  for (;;) {
    if (in_.peek().type == TokenType::close_bracket) {
      close = in_.read();
      break;
    }
    const std::size_t before = in_.mark();
    elements.push_back(ExpressionParser{in_}.parse());
    if (in_.recovering_since(before)) {
      close = in_.recover(TokenType::close_bracket);
      break;
    }
    const Token next = in_.peek();
    if (next.type == TokenType::close_bracket) {
      close = in_.read();
      break;
    }
    if (next.type != TokenType::comma) {
      in_.quiet_error(next.span(), "Missing item separator",
                      "Expected a comma to mark the beginning of the next item.");
      close = in_.recover(TokenType::close_bracket);
      break;
    }
    in_.read();
  }
  TupleExpr node{};
  node.elements = in_.arena().copy(elements);
  node.open = open.span();
  return in_.make_over(node, cover(open.span(), close.span()), elements);
}

const Expression* CollectionParser::parse_object() {
  const Token open = in_.read();
  {
    const TokenReader::IgnoreNewlines ignore{in_};  // `for` may stand on the next line
    if (in_.at_keyword("for")) return parse_for(open);
  }
  const TokenReader::SeeNewlines see{in_};
  Token close = open;
  std::vector<ObjectItem> items;
  std::vector<const Expression*> children;
  for (bool more = true; more;) {
    const Token next = in_.peek();
    if (next.type == TokenType::newline) {
      in_.read();
    } else if (next.type == TokenType::close_brace) {
      close = in_.read();
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
  node.items = in_.arena().copy(items);
  node.open = open.span();
  return in_.make_over(node, cover(open.span(), close.span()), children);
}

/// One item with its separator; false when the object ended, with `close` as its last token.
bool CollectionParser::parse_object_item(std::vector<ObjectItem>& items, Token& close) {
  const bool force_expression = in_.peek().type == TokenType::open_paren;
  const auto give_up = [&] {
    close = in_.recover(TokenType::close_brace);
    return false;
  };
  std::size_t before = in_.mark();
  const Expression* wrapped = ExpressionParser{in_}.parse();
  if (in_.recovering_since(before)) return give_up();
  ObjectKeyExpr key{};
  key.wrapped = wrapped;
  key.force_expression = force_expression;
  Token next = in_.peek();
  if (next.type != TokenType::equal && next.type != TokenType::colon) {
    report_missing_separator(next);
    return give_up();
  }
  in_.read();
  before = in_.mark();
  const Expression* value = ExpressionParser{in_}.parse();
  if (in_.recovering_since(before)) return give_up();
  items.push_back({in_.make(key, wrapped->span, {wrapped}), value});
  next = in_.peek();
  if (next.type == TokenType::close_brace) {
    close = in_.read();
    return false;
  }
  if (next.type != TokenType::comma && next.type != TokenType::newline) {
    in_.quiet_error(next.span(), "Missing attribute separator",
                    "Expected a newline or comma to mark the beginning of the next attribute.");
    return give_up();
  }
  in_.read();
  return true;
}

void CollectionParser::report_missing_separator(Token next) {
  if (next.type == TokenType::newline || next.type == TokenType::comma)
    in_.quiet_error(next.span(), "Missing attribute value",
                    "Expected an attribute value, introduced by an equals sign (\"=\").");
  else if (next.type == TokenType::identifier)
    in_.quiet_error(
        next.span(), "Missing key/value separator",
        "Expected an equals sign (\"=\") to mark the beginning of the attribute value. If you "
        "intended to given an attribute name containing periods or spaces, write the name in "
        "quotes to create a string literal.");
  else
    in_.quiet_error(
        next.span(), "Missing key/value separator",
        "Expected an equals sign (\"=\") to mark the beginning of the attribute value.");
}

const Expression* CollectionParser::abandon_for(Token open) {
  const Token close = in_.recover(in_.opposite(open.type));
  return in_.placeholder(cover(open.span(), close.span()));
}

bool CollectionParser::parse_for_names(std::string_view& key, std::string_view& value) {
  if (in_.peek().type != TokenType::identifier) {
    in_.quiet_error(in_.peek().span(), invalid_for,
                    "For expression requires variable name after 'for'.");
    return false;
  }
  value = in_.text(in_.read());
  if (in_.peek().type == TokenType::comma) {
    key = value;
    in_.read();
    if (in_.peek().type != TokenType::identifier) {
      in_.quiet_error(in_.peek().span(), invalid_for,
                      "For expression requires value variable name after comma.");
      return false;
    }
    value = in_.text(in_.read());
  }
  if (!in_.at_keyword("in")) {
    in_.quiet_error(in_.peek().span(), invalid_for,
                    "For expression requires the 'in' keyword after its name declarations.");
    return false;
  }
  in_.read();
  return true;
}

const Expression* CollectionParser::parse_for(Token open) {
  const TokenReader::IgnoreNewlines ignore{in_};
  in_.read();
  ForExpr node{};
  if (!parse_for_names(node.key_name, node.value_name)) return abandon_for(open);
  std::size_t before = in_.mark();
  node.collection = ExpressionParser{in_}.parse();
  if (in_.recovering_since(before)) return abandon_for(open);
  if (in_.peek().type != TokenType::colon) {
    in_.quiet_error(in_.peek().span(), invalid_for,
                    "For expression requires a colon after the collection expression.");
    return abandon_for(open);
  }
  in_.read();
  before = in_.mark();
  node.value = ExpressionParser{in_}.parse();
  if (in_.peek().type == TokenType::fat_arrow) {
    in_.read();
    node.key = node.value;
    node.value = ExpressionParser{in_}.parse();
  }
  if (in_.recovering_since(before)) return abandon_for(open);
  Token ellipsis = open;
  if (in_.peek().type == TokenType::ellipsis) {
    ellipsis = in_.read();
    node.group = true;
  }
  if (in_.at_keyword("if")) {
    in_.read();
    before = in_.mark();
    node.condition = ExpressionParser{in_}.parse();
    if (in_.recovering_since(before)) return abandon_for(open);
  }
  Token close = open;
  if (in_.peek().type == in_.opposite(open.type)) {
    close = in_.read();
  } else {
    in_.quiet_error(in_.peek().span(), invalid_for,
                    "Extra characters after the end of the 'for' expression.");
    close = in_.recover(in_.opposite(open.type));
  }
  check_for(node, open, ellipsis);
  node.open = open.span();
  node.close = close.span();
  std::vector<const Expression*> children{node.collection, node.value};
  for (const Expression* optional : {node.key, node.condition})
    if (optional != nullptr) children.push_back(optional);
  return in_.make_over(node, cover(open.span(), close.span()), children);
}

void CollectionParser::check_for(const ForExpr& loop, Token open, Token ellipsis) {
  if (open.type == TokenType::open_brace) {
    if (loop.key == nullptr)
      in_.error(loop.value->span, invalid_for,
                "Key expression is required when building an object.");
    return;
  }
  if (loop.key != nullptr)
    in_.error(loop.key->span, invalid_for, "Key expression is not valid when building a tuple.");
  if (loop.group)
    in_.error(ellipsis.span(), invalid_for,
              "Grouping ellipsis (...) cannot be used when building a tuple.");
}

}  // namespace nomad::hcl
