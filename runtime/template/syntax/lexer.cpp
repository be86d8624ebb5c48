#include "runtime/template/syntax/lexer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/letters.hpp"

namespace nomad::templates {
namespace {

/// What is trimmed.
constexpr std::string_view space_characters = " \t\r\n";

constexpr std::string_view left_comment = "/*";
constexpr std::string_view right_comment = "*/";

/// "- " and " -".
constexpr std::size_t trim_length = 2;

bool is_space(char32_t c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_word_character(char32_t c) {
  if (c < 0x80) return c == '_' || is_alphanumeric(static_cast<char>(c));
  return c <= 0x10FFFF && (is_unicode_letter(c) || is_unicode_digit(c));
}

bool has_left_trim(std::string_view text) {
  return text.size() >= 2 && text[0] == '-' && is_space(static_cast<unsigned char>(text[1]));
}

bool has_right_trim(std::string_view text) {
  return text.size() >= 2 && is_space(static_cast<unsigned char>(text[0])) && text[1] == '-';
}

std::size_t leading_space(std::string_view text) {
  return std::min(text.find_first_not_of(space_characters), text.size());
}

std::size_t trailing_space(std::string_view text) {
  const std::size_t last = text.find_last_not_of(space_characters);
  return last == std::string_view::npos ? text.size() : text.size() - last - 1;
}

std::uint32_t count_lines(std::string_view text) {
  return static_cast<std::uint32_t>(std::ranges::count(text, '\n'));
}

TokenType type_of_word(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, TokenType>, 13> keywords{{
      {"block", TokenType::block},
      {"break", TokenType::break_},
      {"continue", TokenType::continue_},
      {"define", TokenType::define},
      {"else", TokenType::else_},
      {"end", TokenType::end},
      {"if", TokenType::if_},
      {"range", TokenType::range},
      {"nil", TokenType::nil},
      {"template", TokenType::template_},
      {"with", TokenType::with},
      {"true", TokenType::boolean},
      {"false", TokenType::boolean},
  }};
  const auto* found = std::ranges::find(keywords, word, &decltype(keywords)::value_type::first);
  return found == keywords.end() ? TokenType::identifier : found->second;
}

}  // namespace

std::string Token::shown() const {
  if (type == TokenType::end_of_text) return "EOF";
  if (type == TokenType::error) return value;
  if (type >= TokenType::dot) return '<' + value + '>';
  std::size_t cut = 0;
  for (int left = 10; left > 0 && cut < value.size(); --left)
    cut += decode_utf8(value, cut).length;
  return value.size() > 10 ? quote(std::string_view{value}.substr(0, cut)) + "..." : quote(value);
}

Lexer::Lexer(std::string_view text, const Delimiters& delimiters)
    : text_{text},
      left_{delimiters.left.empty() ? "{{" : delimiters.left},
      right_{delimiters.right.empty() ? "}}" : delimiters.right} {}

Token Lexer::next() {
  out_ = Token{TokenType::end_of_text, static_cast<std::uint32_t>(at_), start_line_, "EOF"};
  State state = inside_ ? State::inside : State::text;
  while (state != State::done) {
    switch (state) {
      case State::text:
        state = lex_text();
        break;
      case State::left:
        state = lex_left();
        break;
      case State::comment:
        state = lex_comment();
        break;
      case State::right:
        state = lex_right();
        break;
      case State::inside:
        state = lex_inside();
        break;
      case State::done:
        break;
    }
  }
  return std::move(out_);
}

char32_t Lexer::peek() const {
  return at_ < text_.size() ? decode_utf8(text_, at_).value : end_mark;
}

char32_t Lexer::take() {
  if (at_ >= text_.size()) return end_mark;
  const CodePoint point = decode_utf8(text_, at_);
  at_ += point.length;
  if (point.value == '\n') ++line_;
  return point.value;
}

bool Lexer::starts_with(std::string_view prefix, std::size_t offset) const {
  return at_ + offset <= text_.size() && text_.substr(at_ + offset).starts_with(prefix);
}

Token Lexer::token(TokenType type) {
  Token out{type, static_cast<std::uint32_t>(start_), start_line_,
            std::string{text_.substr(start_, at_ - start_)}};
  start_ = at_;
  start_line_ = line_;
  return out;
}

Lexer::State Lexer::emit(TokenType type) {
  out_ = token(type);
  return State::done;
}

Lexer::State Lexer::fail(std::string what) {
  out_ = Token{TokenType::error, static_cast<std::uint32_t>(start_), start_line_, std::move(what)};
  at_ = start_ = 0;
  text_ = {};
  return State::done;
}

Lexer::State Lexer::fail_character(std::string_view what, char32_t c) {
  const Value shown_as[] = {Value::integer(static_cast<std::int64_t>(c), types::int32)};
  return fail(std::string{what} + print_format("%#U", shown_as, 64).value_or("?"));
}

void Lexer::ignore() {
  line_ += count_lines(text_.substr(start_, at_ - start_));
  start_ = at_;
  start_line_ = line_;
}

bool Lexer::at_right(bool& trims) const {
  trims = has_right_trim(text_.substr(at_)) && starts_with(right_, trim_length);
  return trims || starts_with(right_);
}

bool Lexer::at_terminator() const {
  const char32_t c = peek();
  if (is_space(c) || c == end_mark) return true;
  constexpr std::string_view ends = ".,|:)(";
  if (c < 0x80 && ends.find(static_cast<char>(c)) != std::string_view::npos) return true;
  return starts_with(right_);
}

Lexer::State Lexer::lex_text() {
  const std::size_t found = text_.find(left_, at_);
  if (found == std::string_view::npos) {
    at_ = text_.size();
    if (at_ == start_) return emit(TokenType::end_of_text);
    line_ += count_lines(text_.substr(start_, at_ - start_));
    return emit(TokenType::text);
  }
  if (found > at_) {
    at_ = found;
    const std::size_t trimmed = has_left_trim(text_.substr(found + left_.size()))
                                    ? trailing_space(text_.substr(start_, at_ - start_))
                                    : 0;
    at_ -= trimmed;
    line_ += count_lines(text_.substr(start_, at_ - start_));
    Token text = token(TokenType::text);
    at_ += trimmed;
    ignore();
    if (!text.value.empty()) {
      out_ = std::move(text);
      return State::done;
    }
  }
  return State::left;
}

Lexer::State Lexer::lex_left() {
  at_ += left_.size();
  const std::size_t marker = has_left_trim(text_.substr(at_)) ? trim_length : 0;
  if (starts_with(left_comment, marker)) {
    at_ += marker;
    ignore();
    return State::comment;
  }
  Token delimiter = token(TokenType::left_delimiter);
  inside_ = true;
  at_ += marker;
  ignore();
  parens_ = 0;
  out_ = std::move(delimiter);
  return State::done;
}

Lexer::State Lexer::lex_comment() {
  at_ += left_comment.size();
  const std::size_t end = text_.find(right_comment, at_);
  if (end == std::string_view::npos) return fail("unclosed comment");
  at_ = end + right_comment.size();
  bool trims = false;
  if (!at_right(trims)) return fail("comment ends before closing delimiter");
  token(TokenType::text);  // Go does not count the lines of a comment.
  at_ += (trims ? trim_length : 0) + right_.size();
  if (trims) at_ += leading_space(text_.substr(at_));
  ignore();
  return State::text;
}

Lexer::State Lexer::lex_right() {
  bool trims = false;
  at_right(trims);
  if (trims) {
    at_ += trim_length;
    ignore();
  }
  at_ += right_.size();
  Token delimiter = token(TokenType::right_delimiter);
  if (trims) {
    at_ += leading_space(text_.substr(at_));
    ignore();
  }
  inside_ = false;
  out_ = std::move(delimiter);
  return State::done;
}

Lexer::State Lexer::lex_inside() {
  bool trims = false;
  if (at_right(trims)) return parens_ == 0 ? State::right : fail("unclosed left paren");
  const char32_t c = peek();
  if (c == end_mark) return fail("unclosed action");
  if (is_space(c)) return lex_space();
  if (is_digit(static_cast<char>(c < 0x80 ? c : 0)) || c == '+' || c == '-') return lex_number();
  if (is_word_character(c)) return lex_word();
  if (c == '.') {
    const char following = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (is_digit(following) || at_ + 1 >= text_.size()) return lex_number();
    take();
    return lex_name(TokenType::field);
  }
  take();
  return lex_symbol(c);
}

Lexer::State Lexer::lex_symbol(char32_t c) {
  switch (c) {
    case '=':
      return emit(TokenType::assign);
    case ':':
      return take() == '=' ? emit(TokenType::declare) : fail("expected :=");
    case '|':
      return emit(TokenType::pipe);
    case '"':
      return lex_quoted('"', TokenType::string, "unterminated quoted string");
    case '\'':
      return lex_quoted('\'', TokenType::character_constant, "unterminated character constant");
    case '`':
      return lex_raw();
    case '$':
      return at_terminator() ? emit(TokenType::variable) : lex_name(TokenType::variable);
    case '(':
      ++parens_;
      return emit(TokenType::left_paren);
    case ')':
      return --parens_ < 0 ? fail("unexpected right paren") : emit(TokenType::right_paren);
    default:
      if (c >= 0x20 && c < 0x7F) return emit(TokenType::character);
      return fail_character("unrecognized character in action: ", c);
  }
}

Lexer::State Lexer::lex_space() {
  int spaces = 0;
  for (; is_space(peek()); ++spaces)
    take();
  // The last space may belong to a trimming delimiter.
  if (has_right_trim(text_.substr(at_ - 1))
      && text_.substr(at_ - 1 + trim_length).starts_with(right_)) {
    --at_;
    if (text_[at_] == '\n') --line_;
    if (spaces == 1) return State::right;
  }
  return emit(TokenType::space);
}

Lexer::State Lexer::lex_word() {
  while (is_word_character(peek()))
    take();
  if (!at_terminator()) return fail_character("bad character ", peek());
  return emit(type_of_word(text_.substr(start_, at_ - start_)));
}

Lexer::State Lexer::lex_name(TokenType type) {
  if (at_terminator()) return emit(type == TokenType::variable ? type : TokenType::dot);
  while (is_word_character(peek()))
    take();
  if (!at_terminator()) return fail_character("bad character ", peek());
  return emit(type);
}

Lexer::State Lexer::lex_quoted(char quote, TokenType type, std::string_view what) {
  for (;;) {
    const char32_t c = take();
    if (c == static_cast<char32_t>(quote)) return emit(type);
    if (c == end_mark || c == '\n') return fail(std::string{what});
    if (c == '\\') {
      const char32_t escaped = take();
      if (escaped == end_mark || escaped == '\n') return fail(std::string{what});
    }
  }
}

Lexer::State Lexer::lex_raw() {
  for (;;) {
    const char32_t c = take();
    if (c == end_mark) return fail("unterminated raw quoted string");
    if (c == '`') return emit(TokenType::raw_string);
  }
}

bool Lexer::accept(std::string_view characters) {
  if (at_ >= text_.size() || characters.find(text_[at_]) == std::string_view::npos) return false;
  ++at_;
  return true;
}

void Lexer::accept_all(std::string_view characters) {
  while (accept(characters)) {
  }
}

bool Lexer::scan_number() {
  accept("+-");
  std::string_view digits = "0123456789_";
  bool hex = false;
  bool decimal = true;
  if (accept("0")) {
    if (accept("xX")) {
      digits = "0123456789abcdefABCDEF_";
      hex = true;
      decimal = false;
    } else if (accept("oO")) {
      digits = "01234567_";
      decimal = false;
    } else if (accept("bB")) {
      digits = "01_";
      decimal = false;
    }
  }
  accept_all(digits);
  if (accept(".")) accept_all(digits);
  if ((decimal && accept("eE")) || (hex && accept("pP"))) {
    accept("+-");
    accept_all("0123456789_");
  }
  accept("i");
  if (!is_word_character(peek())) return true;
  take();
  return false;
}

Lexer::State Lexer::lex_number() {
  const auto bad
      = [this] { return fail("bad number syntax: " + quote(text_.substr(start_, at_ - start_))); };
  if (!scan_number()) return bad();
  if (peek() != '+' && peek() != '-') return emit(TokenType::number);
  if (!scan_number() || text_[at_ - 1] != 'i') return bad();
  return emit(TokenType::complex);
}

}  // namespace nomad::templates
