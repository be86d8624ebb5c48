#include "runtime/hcl/syntax/template_parser.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/syntax/expression_parser.hpp"
#include "runtime/hcl/value/utf8.hpp"
#include "runtime/text/letters.hpp"

namespace nomad::hcl {

/// One piece of a template before it is a tree.
struct TemplatePart {
  enum class Kind : std::uint8_t { literal, interpolation, if_, for_, else_, end_if, end_for, end };

  Kind kind = Kind::end;
  Span span{};
  std::string text{};                // literal
  const Expression* expr = nullptr;  // interpolation, condition, collection
  std::string_view key_name{};       // for
  std::string_view value_name{};     // for
};

namespace {

constexpr const char* invalid_escape = "Invalid escape sequence";

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

/// Puts the parts of one template together.
class TemplateTree {
public:
  TemplateTree(TokenReader& in, std::vector<TemplatePart>& parts) : in_{in}, parts_{parts} {}

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

  std::string position(Span span) const { return in_.source().range(span).to_string(); }

  const Expression* text_node(const std::vector<const Expression*>& parts) {
    TemplateExpr node{};
    node.parts = in_.arena().copy(parts);
    return in_.make_over(node, cover(parts.front()->span, parts.back()->span), parts);
  }

  const Expression* expression() {
    TemplatePart& part = read();
    switch (part.kind) {
      case Kind::literal:
        return in_.literal(Value::string(part.text), part.span);
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
        in_.error(part.span, "Unexpected " + std::string{directive_name(part.kind)} + " directive",
                  "The control directives within this template are unbalanced.");
        return in_.placeholder(part.span);
    }
    in_.error(part.span, "Unexpected end of template",
              "The control directives within this template are unbalanced.");
    return in_.placeholder(part.span);
  }

  const Expression* nested(const TemplatePart& open,
                           const Expression* (TemplateTree::*directive)(const TemplatePart&)) {
    if (in_.is_full_depth()) {
      in_.too_deep(open.span);
      given_up_ = true;
      next_ = parts_.size() - 1;
      return in_.placeholder(open.span);
    }
    in_.enter();
    const Expression* out = (this->*directive)(open);
    in_.leave();
    return out;
  }

  const Expression* unexpected_end(std::string_view name, Span open) {
    const Span end = peek().span;
    if (!given_up_)
      in_.error(end, "Unexpected end of template",
                "The " + std::string{name} + " directive at " + position(open)
                    + " is missing its corresponding end" + std::string{name} + " directive.");
    return in_.placeholder(end);
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
        in_.error(close.span, "Unexpected else directive",
                  "Already in the else clause for the if started at " + position(open.span) + ".");
      else
        in_.error(
            close.span, "Unexpected " + std::string{directive_name(close.kind)} + " directive",
            "Expecting an endif directive for the if started at " + position(open.span) + ".");
      return in_.placeholder(close.span);
    }
    if (branches[0].empty())
      branches[0].push_back(in_.literal(Value::string(""), {open.span.end, open.span.end}));
    if (branches[1].empty())
      branches[1].push_back(in_.literal(Value::string(""), {end.begin, end.begin}));
    ConditionalExpr node{};
    node.condition = open.expr;
    node.if_true = text_node(branches[0]);
    node.if_false = text_node(branches[1]);
    return in_.make(node, cover(open.span, end), {node.condition, node.if_true, node.if_false});
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
        in_.error(close.span, "Unexpected else directive",
                  "An else clause is not expected for a for directive.");
      else
        in_.error(close.span,
                  "Unexpected " + std::string{directive_name(close.kind)} + " directive",
                  "Expecting an endfor directive corresponding to the for directive at "
                      + position(open.span) + ".");
      return in_.placeholder(close.span);
    }
    if (content.empty())
      content.push_back(in_.literal(Value::string(""), {open.span.end, open.span.end}));
    ForExpr loop{};
    loop.key_name = open.key_name;
    loop.value_name = open.value_name;
    loop.collection = open.expr;
    loop.value = text_node(content);
    loop.open = open.span;
    loop.close = end;
    TemplateJoinExpr node{};
    node.tuple = in_.make(loop, cover(open.span, end), {loop.collection, loop.value});
    return in_.make(node, node.tuple->span, {node.tuple});
  }

  TokenReader& in_;
  std::vector<TemplatePart>& parts_;
  std::size_t next_ = 0;
  bool given_up_ = false;  // too deep: what follows from that is not told
};

}  // namespace

/// A quoted string that is one piece of text as it stands; null when it is more than that.
const Expression* TemplateParser::parse_plain_string(Token open) {
  const Token* content = in_.raw(0);
  const Token* close = in_.raw(1);
  if (close == nullptr || content->type != TokenType::quoted_literal
      || close->type != TokenType::close_quote)
    return nullptr;
  const std::string_view plain = in_.text(*content);
  if (plain.find_first_of("\\$%") != std::string_view::npos) return nullptr;
  const Span span = content->span();
  in_.skip_raw(2);
  const Expression* part = in_.literal(Value::string(plain), span);
  TemplateExpr node{};
  node.parts = in_.arena().one(part);
  return in_.make(node, cover(open.span(), in_.previous_span()), {part});
}

const Expression* TemplateParser::parse_string() {
  const Token open = in_.read();
  if (open.type == TokenType::open_quote)
    if (const Expression* plain = parse_plain_string(open)) return plain;
  const bool flush = open.type == TokenType::open_heredoc && in_.text(open).starts_with("<<-");
  Span inner;
  bool wraps = false;
  const auto parts = parse_template(in_.opposite(open.type), flush, inner, wraps);
  return whole(parts, wraps, cover(open.span(), in_.previous_span()));
}

const Expression* TemplateParser::parse_whole() {
  Span span;
  bool wraps = false;
  const auto parts = parse_template(TokenType::end_of_file, false, span, wraps);
  return whole(parts, wraps, span);
}

const Expression* TemplateParser::whole(const std::vector<const Expression*>& parts,
                                        bool wraps,
                                        Span span) {
  if (wraps) {
    TemplateWrapExpr node{};
    node.wrapped = parts.front();
    return in_.make(node, span, {node.wrapped});
  }
  TemplateExpr node{};
  node.parts = in_.arena().copy(parts);
  return in_.make_over(node, span, parts);
}

/// The expressions of a template. `wraps`: it is one interpolation and nothing else.
std::vector<const Expression*> TemplateParser::parse_template(TokenType end,
                                                              bool flush,
                                                              Span& span,
                                                              bool& wraps) {
  std::vector<TemplatePart> parts = parse_template_parts(end, span);
  if (flush) flush_heredoc(parts);
  wraps = parts.size() == 2 && parts.front().kind == Kind::interpolation;
  return TemplateTree{in_, parts}.run();
}

std::vector<TemplatePart> TemplateParser::parse_template_parts(TokenType end, Span& span) {
  std::vector<TemplatePart> parts;
  const Span start = in_.peek().span();
  Span last;
  bool trim_next = false;
  bool after_literal = false;
  for (;;) {
    const Token next = in_.read();
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
      if (can_trim && in_.text(next).size() == 3)  // `${~`
        parts.back().text.resize(trim_right_space(parts.back().text).size());
      if (next.type == TokenType::template_interp)
        parse_interpolation(next, parts, trim_next);
      else
        parse_control(next, parts, trim_next);
    } else {
      in_.quiet_error(next.span(), "Unterminated template string",
                      "No closing marker was found for the string.");
      last = in_.recover(end).span();
      break;
    }
  }
  if (parts.empty()) parts.push_back({Kind::literal, {start.end, start.end}, {}});
  parts.push_back({Kind::end, last, {}});
  span = cover(start, last);
  return parts;
}

void TemplateParser::parse_interpolation(Token open,
                                         std::vector<TemplatePart>& parts,
                                         bool& trim_next) {
  const TokenReader::IgnoreNewlines ignore{in_};
  TemplatePart part{Kind::interpolation, {}, {}};
  part.expr = ExpressionParser{in_}.parse();
  const Token close = in_.peek();
  if (close.type == TokenType::template_end) {
    in_.read();
    trim_next = in_.text(close).starts_with('~');
  } else {
    in_.quiet_error(close.span(), "Extra characters after interpolation expression",
                    "Expected a closing brace to end the interpolation expression, but found extra "
                    "characters.");
    in_.recover(TokenType::template_end);
  }
  part.span = cover(open.span(), close.span());
  parts.push_back(std::move(part));
}

void TemplateParser::parse_control(Token open, std::vector<TemplatePart>& parts, bool& trim_next) {
  const TokenReader::IgnoreNewlines ignore{in_};
  const Token keyword = in_.peek();
  if (keyword.type != TokenType::identifier) {
    in_.quiet_error(
        keyword.span(), "Invalid template directive",
        "A template directive keyword (\"if\", \"for\", etc) is expected at the beginning of a %{ "
        "sequence.");
    in_.recover(TokenType::template_end);
    return;
  }
  in_.read();
  const std::string_view word = in_.text(keyword);
  const auto add = [&](Kind kind, const Expression* expr) {
    TemplatePart part{kind, cover(open.span(), in_.peek().span()), {}};
    part.expr = expr;
    parts.push_back(std::move(part));
  };
  if (word == "if") {
    const Expression* condition = ExpressionParser{in_}.parse();
    add(Kind::if_, condition);
  } else if (word == "else") {
    add(Kind::else_, nullptr);
  } else if (word == "endif") {
    add(Kind::end_if, nullptr);
  } else if (word == "endfor") {
    add(Kind::end_for, nullptr);
  } else if (word == "for") {
    if (!parse_for_directive(open, parts)) {
      in_.recover(TokenType::template_end);
      return;
    }
  } else {
    const std::string_view suggestion
        = name_suggestion(word, {"if", "for", "else", "endif", "endfor"});
    in_.quiet_error(keyword.span(), "Invalid template control keyword",
                    quote(word) + " is not a valid template control keyword."
                        + (suggestion.empty() ? "" : " Did you mean " + quote(suggestion) + "?"));
    in_.recover(TokenType::template_end);
    return;
  }
  close_control(keyword, trim_next);
}

bool TemplateParser::parse_for_directive(Token open, std::vector<TemplatePart>& parts) {
  constexpr const char* summary = "Invalid 'for' directive";
  TemplatePart part{Kind::for_, {}, {}};
  if (in_.peek().type != TokenType::identifier) {
    in_.quiet_error(in_.peek().span(), summary,
                    "For directive requires variable name after 'for'.");
    return false;
  }
  part.value_name = in_.text(in_.read());
  if (in_.peek().type == TokenType::comma) {
    part.key_name = part.value_name;
    in_.read();
    if (in_.peek().type != TokenType::identifier) {
      in_.quiet_error(in_.peek().span(), summary,
                      "For directive requires value variable name after comma.");
      return false;
    }
    part.value_name = in_.text(in_.read());
  }
  if (!in_.at_keyword("in")) {
    in_.quiet_error(in_.peek().span(), summary, "For directive requires 'in' keyword after names.");
    return false;
  }
  in_.read();
  part.expr = ExpressionParser{in_}.parse();
  part.span = cover(open.span(), in_.peek().span());
  parts.push_back(std::move(part));
  return true;
}

void TemplateParser::close_control(Token keyword, bool& trim_next) {
  const Token close = in_.peek();
  if (close.type == TokenType::template_end) {
    in_.read();
    trim_next = in_.text(close).starts_with('~');
    return;
  }
  in_.quiet_error(close.span(), "Extra characters in " + std::string{in_.text(keyword)} + " marker",
                  "Expected a closing brace to end the sequence, but found extra characters.");
  in_.recover(TokenType::template_end);
}

/// Removes from the start of each line as many spaces as the least indented line has.
void TemplateParser::flush_heredoc(std::vector<TemplatePart>& parts) {
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
      bytes += decode_utf8(part->text, bytes).length;
    part->text.erase(0, bytes);
    part->span.begin
        = std::min(part->span.begin + static_cast<std::uint32_t>(bytes), part->span.end);
  }
}

/// The text that a literal token stands for.
std::string TemplateParser::decode(Token token) {
  std::string_view content = in_.text(token);
  // The lexer makes `$${` and `%%{` tokens of their own.
  if (content.starts_with("$${") || content.starts_with("%%{"))
    return std::string{content.substr(1)};
  if (token.type != TokenType::quoted_literal || content.find('\\') == std::string_view::npos)
    return std::string{content};
  std::string out;
  out.reserve(content.size());
  for (std::size_t at = 0; at < content.size();) {
    if (content[at] == '\\') {
      decode_escape(token, content, at, out);
      continue;
    }
    const std::size_t end = std::min(content.find('\\', at), content.size());
    out += content.substr(at, end - at);
    at = end;
  }
  return out;
}

/// Reads the escape sequence at `at`, which a backslash begins, and steps over it.
void TemplateParser::decode_escape(Token token,
                                   std::string_view content,
                                   std::size_t& at,
                                   std::string& out) {
  const std::size_t begin = at;
  const auto fail = [&](std::string detail) {
    in_.error({token.begin + static_cast<std::uint32_t>(begin),
               token.begin + static_cast<std::uint32_t>(at)},
              invalid_escape, std::move(detail));
  };
  ++at;
  const char selector = at < content.size() ? content[at] : '\0';  // the lexer leaves none alone
  switch (selector) {
    case 'n':
      out += '\n';
      break;
    case 'r':
      out += '\r';
      break;
    case 't':
      out += '\t';
      break;
    case '"':
      out += '"';
      break;
    case '\\':
      out += '\\';
      break;
    case 'u':
    case 'U': {
      const std::size_t digits = selector == 'u' ? 4 : 8;
      std::uint32_t value = 0;
      std::size_t have = 0;
      for (++at; have < digits && at < content.size() && hex_value(content[at]) >= 0; ++at, ++have)
        value = value * 16 + static_cast<std::uint32_t>(hex_value(content[at]));
      if (have < digits)
        return fail(selector == 'u'
                        ? "The \\u escape sequence must be followed by four hexadecimal digits."
                        : "The \\U escape sequence must be followed by eight hexadecimal digits.");
      if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        std::string number;
        for (int shift = 28; shift >= 0; shift -= 4) {
          const auto digit = (value >> static_cast<unsigned>(shift)) & 0xFU;
          if (!number.empty() || digit != 0 || shift < 16) number += "0123456789abcdef"[digit];
        }
        return fail("Cannot encode character U+" + number + " in UTF-8.");
      }
      append_utf8(out, value);
      return;
    }
    default: {
      const std::size_t length = std::max<std::size_t>(sequence_length(content, at), 1);
      const std::string_view symbol = content.substr(at, length);
      at += length;
      out += symbol;
      return fail("The symbol " + quote(symbol) + " is not a valid escape sequence selector.");
    }
  }
  ++at;
}

/// A quoted string without template sequences: a block label.
std::string_view TemplateParser::parse_label(Span& span) {
  constexpr const char* summary = "Invalid string literal";
  const Token open = in_.read();
  std::string out;
  Token last = open;
  for (bool more = true; more;) {
    const Token next = in_.read();
    last = next;
    switch (next.type) {
      case TokenType::close_quote:
        more = false;
        break;
      case TokenType::quoted_literal:
        out += decode(next);
        break;
      case TokenType::template_interp:
      case TokenType::template_control: {
        const std::string which = next.type == TokenType::template_interp ? "$" : "%";
        in_.error(next.span(), summary,
                  "Template sequences are not allowed in this string. To include a literal \""
                      + which + "\", double it (as \"" + which + which + "\") to escape it.");
        out += which + "{ ... }";
        in_.recover(TokenType::template_end);
        break;
      }
      case TokenType::end_of_file:
        in_.error(next.span(), "Unterminated string literal",
                  "Unable to find the closing quote mark before the end of the file.");
        more = false;
        break;
      default:
        in_.error(next.span(), summary, "This item is not valid in a string literal.");
        in_.recover(TokenType::close_quote);
        more = false;
        break;
    }
  }
  span = cover(open.span(), last.span());
  const std::string_view raw = in_.source().text().substr(open.end, out.size());
  return raw == out ? raw : in_.arena().copy(out);
}

}  // namespace nomad::hcl
