#include "runtime/hcl/syntax/token_reader.hpp"

namespace nomad::hcl {

TokenReader::TokenReader(File& file, std::vector<Token> tokens)
    : builder_{file},
      source_text_{file.source().text()},
      source_{file.source()},
      tokens_{std::move(tokens)} {}

std::pair<Token, std::size_t> TokenReader::next_token() const {
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

Span TokenReader::previous_span() const {
  return next_ == 0 ? peek().span() : tokens_[next_ - 1].span();
}

std::string_view TokenReader::text(Token token) const {
  return source_text_.substr(token.begin, token.end - token.begin);
}

bool TokenReader::at_keyword(std::string_view keyword) const {
  const Token token = peek();
  return token.type == TokenType::identifier && text(token) == keyword;
}

void TokenReader::error(Span span, std::string summary, std::string detail) {
  ++errors_;
  if (diagnostics_.size() < max_diagnostics)
    diagnostics_.push_back(error_at(source_, span, std::move(summary), std::move(detail)));
}

void TokenReader::quiet_error(Span span, std::string summary, std::string detail) {
  if (!recovering_) error(span, std::move(summary), std::move(detail));
}

bool TokenReader::too_deep(Span span) {
  error(span, "Nesting too deep",
        "Expressions and blocks may be nested at most " + std::to_string(max_height)
            + " levels deep.");
  recovering_ = true;
  next_ = tokens_.size();
  return false;
}

Token TokenReader::recover(TokenType end) {
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

void TokenReader::recover_after_item() {
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

TokenType TokenReader::opposite(TokenType type) {
  static constexpr std::pair<TokenType, TokenType> both[]
      = {{TokenType::open_brace, TokenType::close_brace},
         {TokenType::open_bracket, TokenType::close_bracket},
         {TokenType::open_paren, TokenType::close_paren},
         {TokenType::open_quote, TokenType::close_quote},
         {TokenType::open_heredoc, TokenType::close_heredoc},
         {TokenType::template_interp, TokenType::template_end}};
  if (type == TokenType::template_control) return TokenType::template_end;
  for (const auto& [open, close] : both) {
    if (type == open) return close;
    if (type == close) return open;
  }
  return TokenType::end_of_file;
}

const Expression* TokenReader::literal(Value value, Span span) {
  LiteralExpr node{};
  node.value = builder_.arena().keep(std::move(value));
  node.height = 1;
  node.span = span;
  node.file = builder_.file();
  return builder_.arena().make(node);
}

}  // namespace nomad::hcl
