// Strings and templates: from tokens to parts, from parts to a tree.
#include <algorithm>
#include <limits>

#include "runtime/hcl/syntax/parser_impl.hpp"
#include "runtime/hcl/value/text.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

using Kind = TemplatePart::Kind;

std::string_view directive_name(Kind kind) {
  switch (kind) {
    case Kind::else_:
      return "else";
    case Kind::end_if:
      return "endif";
    case Kind::end_for:
      return "endfor";
    default:
      return "";
  }
}

}  // namespace

/// Puts the parts of one template together.
class TemplateTree {
public:
  TemplateTree(Parser& parser, std::vector<TemplatePart>& parts) : parser_{parser}, parts_{parts} {}

  std::vector<const Expression*> run() {
    std::vector<const Expression*> out;
    while (peek().kind != Kind::end)
      out.push_back(expression());
    return out;
  }

private:
  const TemplatePart& peek() const { return parts_[next_]; }

  TemplatePart& read() {
    TemplatePart& part = parts_[next_];
    if (part.kind != Kind::end) ++next_;
    return part;
  }

  std::string place(Span span) const { return parser_.source_.range(span).to_string(); }

  const Expression* text_node(const std::vector<const Expression*>& parts) {
    TemplateExpr node{};
    node.kind = ExprKind::template_text;
    node.parts = parser_.builder_.arena().copy(parts);
    return parser_.make_over(node, cover(parts.front()->span, parts.back()->span), parts);
  }

  const Expression* expression() {
    TemplatePart& part = read();
    switch (part.kind) {
      case Kind::literal:
        return parser_.literal(Value::string(part.text), part.span);
      case Kind::interpolation:
        return part.expr;
      case Kind::if_:
        return nested(part, &TemplateTree::if_directive);
      case Kind::for_:
        return nested(part, &TemplateTree::for_directive);
      case Kind::end:
        break;
      case Kind::else_:
      case Kind::end_if:
      case Kind::end_for:
        parser_.error(part.span,
                      "Unexpected " + std::string{directive_name(part.kind)} + " directive",
                      "The control directives within this template are unbalanced.");
        return parser_.placeholder(part.span);
    }
    parser_.error(part.span, "Unexpected end of template",
                  "The control directives within this template are unbalanced.");
    return parser_.placeholder(part.span);
  }

  const Expression* nested(const TemplatePart& open,
                           const Expression* (TemplateTree::*directive)(const TemplatePart&)) {
    if (parser_.depth_ >= max_height) {
      parser_.too_deep(open.span);
      given_up_ = true;
      next_ = parts_.size() - 1;
      return parser_.placeholder(open.span);
    }
    ++parser_.depth_;
    const Expression* out = (this->*directive)(open);
    --parser_.depth_;
    return out;
  }

  const Expression* unexpected_end(std::string_view name, Span open) {
    const Span end = peek().span;
    if (!given_up_)
      parser_.error(end, "Unexpected end of template",
                    "The " + std::string{name} + " directive at " + place(open)
                        + " is missing its corresponding end" + std::string{name} + " directive.");
    return parser_.placeholder(end);
  }

  static bool closes(Kind kind) {
    return kind == Kind::else_ || kind == Kind::end_if || kind == Kind::end_for;
  }

  const Expression* if_directive(const TemplatePart& open) {
    std::vector<const Expression*> branches[2];
    int branch = 0;
    Span end;
    for (;;) {
      if (peek().kind == Kind::end) return unexpected_end("if", open.span);
      if (!closes(peek().kind)) {
        branches[branch].push_back(expression());
        continue;
      }
      const TemplatePart& close = read();
      if (close.kind == Kind::else_ && branch == 0) {
        branch = 1;
        continue;
      }
      if (close.kind == Kind::end_if) {
        end = close.span;
        break;
      }
      if (close.kind == Kind::else_)
        parser_.error(close.span, "Unexpected else directive",
                      "Already in the else clause for the if started at " + place(open.span) + ".");
      else
        parser_.error(
            close.span, "Unexpected " + std::string{directive_name(close.kind)} + " directive",
            "Expecting an endif directive for the if started at " + place(open.span) + ".");
      return parser_.placeholder(close.span);
    }
    if (branches[0].empty())
      branches[0].push_back(parser_.literal(Value::string(""), {open.span.end, open.span.end}));
    if (branches[1].empty())
      branches[1].push_back(parser_.literal(Value::string(""), {end.begin, end.begin}));
    ConditionalExpr node{};
    node.kind = ExprKind::conditional;
    node.condition = open.expr;
    node.if_true = text_node(branches[0]);
    node.if_false = text_node(branches[1]);
    return parser_.make(node, cover(open.span, end), {node.condition, node.if_true, node.if_false});
  }

  const Expression* for_directive(const TemplatePart& open) {
    std::vector<const Expression*> content;
    Span end;
    for (;;) {
      if (peek().kind == Kind::end) return unexpected_end("for", open.span);
      if (!closes(peek().kind)) {
        content.push_back(expression());
        continue;
      }
      const TemplatePart& close = read();
      if (close.kind == Kind::end_for) {
        end = close.span;
        break;
      }
      if (close.kind == Kind::else_)
        parser_.error(close.span, "Unexpected else directive",
                      "An else clause is not expected for a for directive.");
      else
        parser_.error(close.span,
                      "Unexpected " + std::string{directive_name(close.kind)} + " directive",
                      "Expecting an endfor directive corresponding to the for directive at "
                          + place(open.span) + ".");
      return parser_.placeholder(close.span);
    }
    if (content.empty())
      content.push_back(parser_.literal(Value::string(""), {open.span.end, open.span.end}));
    ForExpr loop{};
    loop.kind = ExprKind::for_loop;
    loop.key_name = open.key_name;
    loop.value_name = open.value_name;
    loop.collection = open.expr;
    loop.value = text_node(content);
    loop.open = open.span;
    loop.close = end;
    TemplateJoinExpr node{};
    node.kind = ExprKind::template_join;
    node.tuple = parser_.make(loop, cover(open.span, end), {loop.collection, loop.value});
    return parser_.make(node, node.tuple->span, {node.tuple});
  }

  Parser& parser_;
  std::vector<TemplatePart>& parts_;
  std::size_t next_ = 0;
  bool given_up_ = false;  // too deep: what follows from that is not told
};

/// A quoted string that is one piece of text as it stands; null when it is more than that.
const Expression* Parser::parse_plain_string(Token open) {
  if (next_ + 1 >= tokens_.size() || tokens_[next_].type != TokenType::quoted_literal
      || tokens_[next_ + 1].type != TokenType::close_quote)
    return nullptr;
  const Token content = tokens_[next_];
  const std::string_view plain = text(content);
  if (plain.find_first_of("\\$%") != std::string_view::npos) return nullptr;
  next_ += 2;
  const Expression* part = literal(Value::string(plain), content.span());
  TemplateExpr node{};
  node.kind = ExprKind::template_text;
  node.parts = builder_.arena().one(part);
  return make(node, cover(open.span(), previous_span()), {part});
}

const Expression* Parser::parse_string() {
  const Token open = read();
  if (open.type == TokenType::open_quote)
    if (const Expression* plain = parse_plain_string(open)) return plain;
  const bool flush = open.type == TokenType::open_heredoc && text(open).starts_with("<<-");
  Span inner;
  bool wraps = false;
  const auto parts = parse_template(opposite(open.type), flush, inner, wraps);
  const Span span = cover(open.span(), previous_span());
  if (wraps) {
    TemplateWrapExpr node{};
    node.kind = ExprKind::template_wrap;
    node.wrapped = parts.front();
    return make(node, span, {node.wrapped});
  }
  TemplateExpr node{};
  node.kind = ExprKind::template_text;
  node.parts = builder_.arena().copy(parts);
  return make_over(node, span, parts);
}

const Expression* Parser::parse_whole_template() {
  Span span;
  bool wraps = false;
  const auto parts = parse_template(TokenType::end_of_file, false, span, wraps);
  if (wraps) {
    TemplateWrapExpr node{};
    node.kind = ExprKind::template_wrap;
    node.wrapped = parts.front();
    return make(node, span, {node.wrapped});
  }
  TemplateExpr node{};
  node.kind = ExprKind::template_text;
  node.parts = builder_.arena().copy(parts);
  return make_over(node, span, parts);
}

/// The expressions of a template. `wraps`: it is one interpolation and nothing else.
std::vector<const Expression*> Parser::parse_template(TokenType end,
                                                      bool flush,
                                                      Span& span,
                                                      bool& wraps) {
  std::vector<TemplatePart> parts = parse_template_parts(end, span);
  if (flush) flush_heredoc(parts);
  wraps = parts.size() == 2 && parts.front().kind == Kind::interpolation;
  return TemplateTree{*this, parts}.run();
}

std::vector<TemplatePart> Parser::parse_template_parts(TokenType end, Span& span) {
  std::vector<TemplatePart> parts;
  const Span start = peek().span();
  Span last;
  bool trim_next = false;
  bool after_literal = false;
  for (;;) {
    const Token next = read();
    if (next.type == end) {
      last = next.span();
      break;
    }
    const bool trim = std::exchange(trim_next, false);
    const bool can_trim = std::exchange(after_literal, false);
    if (next.type == TokenType::string_literal || next.type == TokenType::quoted_literal) {
      TemplatePart part{Kind::literal, next.span(), decode(next)};
      if (trim) part.text = std::string{trim_left_space(part.text)};
      parts.push_back(std::move(part));
      after_literal = true;
    } else if (next.type == TokenType::template_interp
               || next.type == TokenType::template_control) {
      if (can_trim && text(next).size() == 3)  // `${~`
        parts.back().text.resize(trim_right_space(parts.back().text).size());
      if (next.type == TokenType::template_interp)
        parse_interpolation(next, parts, trim_next);
      else
        parse_control(next, parts, trim_next);
    } else {
      quiet_error(next.span(), "Unterminated template string",
                  "No closing marker was found for the string.");
      last = recover(end).span();
      break;
    }
  }
  if (parts.empty()) parts.push_back({Kind::literal, {start.end, start.end}, {}});
  parts.push_back({Kind::end, last, {}});
  span = cover(start, last);
  return parts;
}

void Parser::parse_interpolation(Token open, std::vector<TemplatePart>& parts, bool& trim_next) {
  const IgnoreNewlines ignore{*this};
  TemplatePart part{Kind::interpolation, {}, {}};
  part.expr = parse_expression();
  const Token close = peek();
  if (close.type == TokenType::template_end) {
    read();
    trim_next = text(close).starts_with('~');
  } else {
    quiet_error(close.span(), "Extra characters after interpolation expression",
                "Expected a closing brace to end the interpolation expression, but found extra "
                "characters.");
    recover(TokenType::template_end);
  }
  part.span = cover(open.span(), close.span());
  parts.push_back(std::move(part));
}

void Parser::parse_control(Token open, std::vector<TemplatePart>& parts, bool& trim_next) {
  const IgnoreNewlines ignore{*this};
  const Token keyword = peek();
  if (keyword.type != TokenType::identifier) {
    quiet_error(
        keyword.span(), "Invalid template directive",
        "A template directive keyword (\"if\", \"for\", etc) is expected at the beginning of a %{ "
        "sequence.");
    recover(TokenType::template_end);
    return;
  }
  read();
  const std::string_view word = text(keyword);
  const auto add = [&](Kind kind, const Expression* expr) {
    TemplatePart part{kind, cover(open.span(), peek().span()), {}};
    part.expr = expr;
    parts.push_back(std::move(part));
  };
  if (word == "if") {
    const Expression* condition = parse_expression();
    add(Kind::if_, condition);
  } else if (word == "else") {
    add(Kind::else_, nullptr);
  } else if (word == "endif") {
    add(Kind::end_if, nullptr);
  } else if (word == "endfor") {
    add(Kind::end_for, nullptr);
  } else if (word == "for") {
    if (!parse_for_directive(open, parts)) {
      recover(TokenType::template_end);
      return;
    }
  } else {
    const std::string_view suggestion
        = name_suggestion(word, {"if", "for", "else", "endif", "endfor"});
    quiet_error(keyword.span(), "Invalid template control keyword",
                quoted(word) + " is not a valid template control keyword."
                    + (suggestion.empty() ? "" : " Did you mean " + quoted(suggestion) + "?"));
    recover(TokenType::template_end);
    return;
  }
  close_control(keyword, trim_next);
}

bool Parser::parse_for_directive(Token open, std::vector<TemplatePart>& parts) {
  constexpr const char* summary = "Invalid 'for' directive";
  TemplatePart part{Kind::for_, {}, {}};
  if (peek().type != TokenType::identifier) {
    quiet_error(peek().span(), summary, "For directive requires variable name after 'for'.");
    return false;
  }
  part.value_name = text(read());
  if (peek().type == TokenType::comma) {
    part.key_name = part.value_name;
    read();
    if (peek().type != TokenType::identifier) {
      quiet_error(peek().span(), summary,
                  "For directive requires value variable name after comma.");
      return false;
    }
    part.value_name = text(read());
  }
  if (!at_keyword("in")) {
    quiet_error(peek().span(), summary, "For directive requires 'in' keyword after names.");
    return false;
  }
  read();
  part.expr = parse_expression();
  part.span = cover(open.span(), peek().span());
  parts.push_back(std::move(part));
  return true;
}

void Parser::close_control(Token keyword, bool& trim_next) {
  const Token close = peek();
  if (close.type == TokenType::template_end) {
    read();
    trim_next = text(close).starts_with('~');
    return;
  }
  quiet_error(close.span(), "Extra characters in " + std::string{text(keyword)} + " marker",
              "Expected a closing brace to end the sequence, but found extra characters.");
  recover(TokenType::template_end);
}

/// Removes from the start of each line as many spaces as the least indented line has.
void Parser::flush_heredoc(std::vector<TemplatePart>& parts) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  bool line_start = true;
  std::vector<TemplatePart*> adjust;
  for (TemplatePart& part : parts) {
    const bool literal = part.kind == Kind::literal;
    if (std::exchange(line_start, false) && part.kind != Kind::end) {
      std::size_t spaces = 0;
      if (literal) {
        const std::string_view text = part.text;
        const std::string_view rest = trim_left_space(text);
        if (rest.empty() && text.ends_with('\n')) {
          spaces = std::numeric_limits<std::size_t>::max();  // a blank line counts for nothing
        } else {
          spaces = count_grapheme_clusters(text.substr(0, text.size() - rest.size()));
          adjust.push_back(&part);
        }
      }
      least = std::min(least, spaces);
    }
    if (literal && part.text.ends_with('\n')) line_start = true;
  }
  for (TemplatePart* part : adjust) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < least && bytes < part->text.size(); ++i)
      bytes += hcl::decode(part->text, bytes).length;
    part->text.erase(0, bytes);
    part->span.begin
        = std::min(part->span.begin + static_cast<std::uint32_t>(bytes), part->span.end);
  }
}

}  // namespace nomad::hcl
