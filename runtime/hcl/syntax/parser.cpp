// The parser's entry points, its view of the tokens, and how it goes on after a mistake.
#include "runtime/hcl/syntax/parser.hpp"

#include "runtime/hcl/syntax/json_node.hpp"
#include "runtime/hcl/syntax/parser_impl.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

constexpr std::size_t max_diagnostics = 1000;

Parsed too_large(std::string file_name, Syntax syntax) {
  auto file = std::make_shared<File>(std::move(file_name), std::string{}, syntax);
  Parsed out;
  out.diagnostics.push_back(error_at(
      file->source(), {}, "Text too large",
      "A text of more than " + std::to_string(max_text_bytes >> 20U) + " MiB cannot be read."));
  if (syntax == Syntax::native) {
    TreeBuilder builder{*file};
    builder.set_body(builder.arena().make(BodyNode{}));
  } else if (syntax == Syntax::json) {
    TreeBuilder builder{*file};
    builder.set_json(builder.arena().make(JsonNode{}));
  }
  out.file = std::move(file);
  return out;
}

Parsed parse_alone(std::string file_name, std::string text, Syntax syntax, Position origin) {
  if (text.size() > max_text_bytes) return too_large(std::move(file_name), syntax);
  auto file = std::make_shared<File>(std::move(file_name), std::move(text), syntax, origin);
  Parser parser{*file, lex(file->source().text(), syntax)};
  parser.check_tokens();
  if (syntax == Syntax::native)
    parser.builder().set_body(parser.parse_body(TokenType::end_of_file));
  else if (syntax == Syntax::expression)
    parser.builder().set_expression(parser.parse_whole_expression());
  else
    parser.builder().set_expression(parser.parse_whole_template());
  return {std::move(file), parser.take_diagnostics()};
}

/// Reports characters that no HCL text may hold, each kind a limited number of times.
class TokenCheck {
public:
  explicit TokenCheck(const Source& source) : source_{source} {}

  void check(Token token, Diagnostics& out) {
    switch (token.type) {
      case TokenType::bitwise_and:
        return bitwise(token, " Did you mean boolean AND (\"&&\")?", out);
      case TokenType::bitwise_or:
        return bitwise(token, " Did you mean boolean OR (\"||\")?", out);
      case TokenType::bitwise_not:
        return bitwise(token, " Did you mean boolean NOT (\"!\")?", out);
      case TokenType::bitwise_xor:
        return bitwise(token, "", out);
      case TokenType::backtick:
        if (backticks_ % 2 == 0)
          add(token, "Invalid character",
              "The \"`\" character is not valid. To create a multi-line string, use the "
              "\"heredoc\" "
              "syntax, like \"<<EOT\".",
              out);
        backticks_ += backticks_ <= 2 ? 1 : 0;
        return;
      case TokenType::apostrophe:
        if (apostrophes_ % 2 == 0)
          add(token, "Invalid character",
              "Single quotes are not valid. Use double quotes (\") to enclose strings.", out);
        apostrophes_ += apostrophes_ <= 2 ? 1 : 0;
        return;
      case TokenType::semicolon:
        if (semicolons_++ == 0)
          add(token, "Invalid character",
              "The \";\" character is not valid. Use newlines to separate arguments and blocks, "
              "and "
              "commas to separate items in collection values.",
              out);
        return;
      case TokenType::bad_utf8:
        if (bad_utf8_++ == 0)
          add(token, "Invalid character encoding",
              "All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in "
              "your "
              "editor.",
              out);
        return;
      case TokenType::quoted_newline:
        add(token, "Invalid multi-line string",
            "Quoted strings may not be split over multiple lines. To produce a multi-line string, "
            "either use the \\n escape to represent a newline character or use the \"heredoc\" "
            "multi-line template syntax.",
            out);
        return;
      case TokenType::invalid:
        return invalid(token, out);
      default:
        return;
    }
  }

private:
  void add(Token token, std::string summary, std::string detail, Diagnostics& out) const {
    if (out.size() < max_diagnostics)
      out.push_back(error_at(source_, token.span(), std::move(summary), std::move(detail)));
  }

  void bitwise(Token token, std::string_view hint, Diagnostics& out) {
    constexpr int tell = 4;
    if (bitwise_++ < tell)
      add(token, "Unsupported operator", "Bitwise operators are not supported." + std::string{hint},
          out);
  }

  void invalid(Token token, Diagnostics& out) const {
    const std::string_view text = source_.text(token.span());
    if (text == "\u201C" || text == "\u201D")
      add(token, "Invalid character",
          "\"Curly quotes\" are not valid here. These can sometimes be inadvertently introduced "
          "when "
          "sharing code via documents or discussion forums. It might help to replace the character "
          "with a \"straight quote\".",
          out);
    else
      add(token, "Invalid character", "This character is not used within the language.", out);
  }

  const Source& source_;
  int bitwise_ = 0;
  int backticks_ = 0;
  int apostrophes_ = 0;
  int semicolons_ = 0;
  int bad_utf8_ = 0;
};

}  // namespace

File::File(std::string file_name, std::string text, Syntax syntax, Position origin)
    : source_{std::move(file_name), std::move(text), syntax, origin},
      arena_{std::make_unique<Arena>()} {}

File::~File() = default;

Parsed parse(std::string file_name, std::string text) {
  return parse_alone(std::move(file_name), std::move(text), Syntax::native, {});
}

Parsed parse_expression(std::string file_name, std::string text, Position origin) {
  return parse_alone(std::move(file_name), std::move(text), Syntax::expression, origin);
}

Parsed parse_template(std::string file_name, std::string text, Position origin) {
  return parse_alone(std::move(file_name), std::move(text), Syntax::bare_template, origin);
}

Parsed parse_native_or_json(std::string file_name, std::string text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string::npos && text[first] == '{'
             ? parse_json(std::move(file_name), std::move(text))
             : parse(std::move(file_name), std::move(text));
}

Parsed parse_json(std::string file_name, std::string text) {
  if (text.size() > max_text_bytes) return too_large(std::move(file_name), Syntax::json);
  auto file = std::make_shared<File>(std::move(file_name), std::move(text), Syntax::json);
  TreeBuilder builder{*file};
  Parsed out;
  builder.set_json(parse_json_tree(builder, out.diagnostics));
  out.file = std::move(file);
  return out;
}

bool is_identifier(std::string_view name) {
  const auto tokens = lex(name, Syntax::expression);
  return tokens.size() == 2 && tokens[0].type == TokenType::identifier && tokens[0].begin == 0
         && tokens[0].end == name.size();
}

Parser::Parser(File& file, std::vector<Token> tokens)
    : builder_{file},
      source_text_{file.source().text()},
      source_{file.source()},
      tokens_{std::move(tokens)} {}

void Parser::check_tokens() {
  TokenCheck check{source_};
  for (const Token& token : tokens_)
    if (token.type >= TokenType::bitwise_and) check.check(token, diagnostics_);
}

std::pair<Token, std::size_t> Parser::next_token() const {
  for (std::size_t i = next_; i < tokens_.size(); ++i) {
    Token token = tokens_[i];
    if (token.type == TokenType::comment) {
      if (!see_newlines_ || source_text_[token.end - 1] != '\n') continue;
      token.type = TokenType::newline;
    } else if (token.type == TokenType::newline && !see_newlines_) {
      continue;
    }
    return {token, i + 1};
  }
  return {tokens_.back(), tokens_.size()};
}

Span Parser::previous_span() const {
  return next_ == 0 ? peek().span() : tokens_[next_ - 1].span();
}

std::string_view Parser::text(Token token) const {
  return source_text_.substr(token.begin, token.end - token.begin);
}

bool Parser::at_keyword(std::string_view keyword) const {
  const Token token = peek();
  return token.type == TokenType::identifier && text(token) == keyword;
}

void Parser::error(Span span, std::string summary, std::string detail) {
  ++errors_;
  if (diagnostics_.size() < max_diagnostics)
    diagnostics_.push_back(error_at(source_, span, std::move(summary), std::move(detail)));
}

/// An error that is only worth reporting while the parser still knows where it is.
void Parser::quiet_error(Span span, std::string summary, std::string detail) {
  if (!recovering_) error(span, std::move(summary), std::move(detail));
}

/// Reports excessive nesting once and gives up on the rest of the text. Answers false.
bool Parser::too_deep(Span span) {
  error(span, "Nesting too deep",
        "Expressions and blocks may be nested at most " + std::to_string(max_height)
            + " levels deep.");
  recovering_ = true;
  next_ = tokens_.size();
  return false;
}

/// Reads up to and with the next `end` that closes the current bracket.
Token Parser::recover(TokenType end) {
  const TokenType start = opposite(end);
  recovering_ = true;
  std::size_t nested = 0;
  for (;;) {
    const Token token = read();
    TokenType type = token.type;
    if (end == TokenType::template_end && type == TokenType::template_control)
      type = TokenType::template_interp;
    if (type == TokenType::end_of_file) return token;
    if (type == end) {
      if (nested == 0) return token;
      --nested;
    } else if (type == start) {
      ++nested;
    }
  }
}

/// Reads to the end of the line on which everything that was opened is closed again.
void Parser::recover_after_item() {
  recovering_ = true;
  std::vector<TokenType> open;
  const auto close = [&open](auto&& is_opener) {
    while (!open.empty() && !is_opener(open.back()))
      open.pop_back();
    if (!open.empty()) open.pop_back();
  };
  for (;;) {
    const Token token = read();
    switch (token.type) {
      case TokenType::newline:
        if (open.empty()) return;
        break;
      case TokenType::end_of_file:
        return;
      case TokenType::open_brace:
      case TokenType::open_bracket:
      case TokenType::open_paren:
      case TokenType::open_quote:
      case TokenType::open_heredoc:
      case TokenType::template_interp:
      case TokenType::template_control:
        open.push_back(token.type);
        break;
      case TokenType::close_brace:
      case TokenType::close_bracket:
      case TokenType::close_paren:
      case TokenType::close_quote:
      case TokenType::close_heredoc:
        close([opener = opposite(token.type)](TokenType type) { return type == opener; });
        break;
      case TokenType::template_end:
        close([](TokenType type) {
          return type == TokenType::template_interp || type == TokenType::template_control;
        });
        break;
      default:
        break;
    }
  }
}

TokenType Parser::opposite(TokenType type) {
  switch (type) {
    case TokenType::open_brace:
      return TokenType::close_brace;
    case TokenType::close_brace:
      return TokenType::open_brace;
    case TokenType::open_bracket:
      return TokenType::close_bracket;
    case TokenType::close_bracket:
      return TokenType::open_bracket;
    case TokenType::open_paren:
      return TokenType::close_paren;
    case TokenType::close_paren:
      return TokenType::open_paren;
    case TokenType::open_quote:
      return TokenType::close_quote;
    case TokenType::close_quote:
      return TokenType::open_quote;
    case TokenType::open_heredoc:
      return TokenType::close_heredoc;
    case TokenType::close_heredoc:
      return TokenType::open_heredoc;
    case TokenType::template_control:
    case TokenType::template_interp:
      return TokenType::template_end;
    case TokenType::template_end:
      return TokenType::template_interp;
    default:
      return TokenType::end_of_file;
  }
}

const Expression* Parser::literal(Value value, Span span) {
  LiteralExpr node{};
  node.kind = ExprKind::literal;
  node.value = builder_.arena().keep(std::move(value));
  node.height = 1;
  node.span = span;
  node.file = builder_.file();
  return builder_.arena().make(node);
}

const Expression* Parser::parse_whole_expression() {
  const IgnoreNewlines ignore{*this};
  const Expression* out = parse_expression();
  const Token next = peek();
  if (next.type != TokenType::end_of_file)
    quiet_error(next.span(), "Extra characters after expression",
                "An expression was successfully parsed, but extra characters were found after it.");
  return out;
}

}  // namespace nomad::hcl
