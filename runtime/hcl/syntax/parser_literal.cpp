// The text of string literals: escapes and labels.
#include "runtime/hcl/syntax/parser_impl.hpp"
#include "runtime/hcl/value/text.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* invalid_escape = "Invalid escape sequence";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

/// The text that a literal token stands for.
std::string Parser::decode(Token token) {
  std::string_view content = text(token);
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
void Parser::decode_escape(Token token,
                           std::string_view content,
                           std::size_t& at,
                           std::string& out) {
  const std::size_t begin = at;
  const auto fail = [&](std::string detail) {
    error({token.begin + static_cast<std::uint32_t>(begin),
           token.begin + static_cast<std::uint32_t>(at)},
          invalid_escape, std::move(detail));
  };
  ++at;
  if (at >= content.size())
    return fail("Backslash must be followed by an escape sequence selector character.");
  const char selector = content[at];
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
      for (++at; have < digits && at < content.size() && hex_digit(content[at]) >= 0; ++at, ++have)
        value = value * 16 + static_cast<std::uint32_t>(hex_digit(content[at]));
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
      return fail("The symbol " + quoted(symbol) + " is not a valid escape sequence selector.");
    }
  }
  ++at;
}

/// A quoted string without template sequences: a block label.
std::string_view Parser::parse_quoted_literal(Span& span) {
  constexpr const char* summary = "Invalid string literal";
  const Token open = read();
  std::string out;
  Token last = open;
  for (bool more = true; more;) {
    const Token next = read();
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
        error(next.span(), summary,
              "Template sequences are not allowed in this string. To include a literal \"" + which
                  + "\", double it (as \"" + which + which + "\") to escape it.");
        out += which + "{ ... }";
        recover(TokenType::template_end);
        break;
      }
      case TokenType::end_of_file:
        error(next.span(), "Unterminated string literal",
              "Unable to find the closing quote mark before the end of the file.");
        more = false;
        break;
      default:
        error(next.span(), summary, "This item is not valid in a string literal.");
        recover(TokenType::close_quote);
        more = false;
        break;
    }
  }
  span = cover(open.span(), last.span());
  const std::string_view raw = source_text_.substr(open.end, out.size());
  return raw == out ? raw : builder_.arena().copy(out);
}

/// `root.attribute[0]["key"]`, and nothing else; empty on error.
std::vector<Step> Parser::parse_whole_traversal() {
  const IgnoreNewlines ignore{*this};
  std::vector<Step> steps;
  const Token root = read();
  if (root.type != TokenType::identifier) return {};
  steps.push_back({Step::Kind::root, root.span(), text(root), nullptr});
  for (;;) {
    const Token next = read();
    if (next.type == TokenType::end_of_file) return errors_ > 0 ? std::vector<Step>{} : steps;
    if (next.type == TokenType::dot) {
      const Token name = read();
      if (name.type != TokenType::identifier) return {};
      steps.push_back(
          {Step::Kind::attribute, cover(next.span(), name.span()), text(name), nullptr});
    } else if (next.type == TokenType::open_bracket) {
      Step step{Step::Kind::index, next.span(), {}, nullptr};
      if (peek().type == TokenType::number) {
        step.key = number_value(read());
      } else if (peek().type == TokenType::open_quote) {
        Span span;
        step.key = builder_.arena().keep(Value::string(parse_quoted_literal(span)));
      } else {
        return {};
      }
      const Token close = read();
      if (close.type != TokenType::close_bracket) return {};
      step.span = cover(next.span(), close.span());
      steps.push_back(step);
    } else {
      return {};
    }
  }
}

}  // namespace nomad::hcl
