// Splits the text of a template into tokens, as Go's text/template does: text between actions, and
// what actions consist of. White space is trimmed at "{{- " and " -}}"; comments are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nomad::templates {

enum class TokenType : std::uint8_t {
  error,  ///< `value` says what is wrong.
  boolean,
  character,  ///< A printable ASCII character that means nothing here, and the comma.
  character_constant,
  complex,
  assign,   ///< =
  declare,  ///< :=
  end_of_text,
  field,  ///< ".Name"
  identifier,
  left_delimiter,
  left_paren,
  number,
  pipe,
  raw_string,
  right_delimiter,
  right_paren,
  space,
  string,
  text,
  variable,  ///< "$", "$name"
  dot,
  nil,
  // Keywords follow: they are shown in angle brackets.
  block,
  break_,
  continue_,
  define,
  else_,
  end,
  if_,
  range,
  template_,
  with,
};

struct Token {
  TokenType type = TokenType::end_of_text;
  std::uint32_t position = 0;  ///< In bytes.
  std::uint32_t line = 1;
  std::string value{};

  /// As messages name it: `"x"`, `<end>`, EOF.
  std::string shown() const;
};

/// Delimiters; empty ones are "{{" and "}}".
struct Delimiters {
  std::string left{};
  std::string right{};
};

class Lexer {
public:
  /// `text` outlives the lexer.
  Lexer(std::string_view text, const Delimiters& delimiters);

  /// After an error or the end only `end_of_text` or `error` come.
  Token next();

private:
  enum class State : std::uint8_t { text, left, comment, right, inside, done };

  static constexpr char32_t end_mark = 0xFFFFFFFF;

  char32_t peek() const;
  char32_t take();
  bool starts_with(std::string_view prefix, std::size_t offset = 0) const;
  Token token(TokenType type);
  State emit(TokenType type);
  State fail(std::string what);
  State fail_character(std::string_view what, char32_t c);
  void ignore();
  bool at_right(bool& trims) const;
  bool at_terminator() const;

  State lex_text();
  State lex_left();
  State lex_comment();
  State lex_right();
  State lex_inside();
  State lex_space();
  State lex_word();
  State lex_name(TokenType type);
  State lex_quoted(char quote, TokenType type, std::string_view what);
  State lex_raw();
  State lex_number();
  bool scan_number();
  bool accept(std::string_view characters);
  void accept_all(std::string_view characters);
  State lex_symbol(char32_t c);

  std::string_view text_;
  std::string left_;
  std::string right_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t start_line_ = 1;
  int parens_ = 0;
  bool inside_ = false;
  Token out_;
};

}  // namespace nomad::templates
