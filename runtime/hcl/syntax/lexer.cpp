#include "runtime/hcl/syntax/lexer.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/text.hpp"
#include "runtime/hcl/value/utf8.hpp"
#include "runtime/text/letters.hpp"

namespace nomad::hcl {

namespace {

/// By byte: whether it stands for itself in every kind of template.
constexpr std::array<bool, 256> is_plain = [] {
  std::array<bool, 256> out{};
  for (unsigned c = 0; c < 0x80; ++c)
    out[c] = c != '$' && c != '%' && c != '"' && c != '\\' && c != '\n' && c != '\r';
  return out;
}();

/// One pass over the text. `levels_` holds what encloses the current position, innermost last.
class Lexer {
public:
  Lexer(std::string_view text, Syntax syntax, std::size_t most)
      : text_{text}, syntax_{syntax}, most_{most} {
    tokens_.reserve(std::min(text.size() / 5, most) + 8);
    if (text.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  std::vector<Token> run() {
    while (at_ < text_.size() && tokens_.size() <= most_) {
      const Level::Kind kind = levels_.empty() ? outermost() : levels_.back().kind;
      switch (kind) {
        case Level::Kind::normal:
          normal();
          break;
        case Level::Kind::quoted:
          quote();
          break;
        case Level::Kind::heredoc:
          heredoc();
          break;
        case Level::Kind::bare:
          bare();
          break;
      }
    }
    emit(TokenType::end_of_file, text_.size());
    return std::move(tokens_);
  }

private:
  struct Level {
    enum class Kind : std::uint8_t { normal, quoted, heredoc, bare } kind;
    bool start_of_line = true;  // heredoc
    std::string_view marker{};  // heredoc
    std::int64_t braces = 0;    // normal: the depth whose closing brace ends the template sequence
  };

  Level::Kind outermost() const {
    return syntax_ == Syntax::bare_template ? Level::Kind::bare : Level::Kind::normal;
  }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void emit(TokenType type, std::size_t end) {
    tokens_.push_back({type, static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(end)});
    at_ = end;
  }

  void take(TokenType type, std::size_t length) { emit(type, at_ + length); }

  // --- normal text ---------------------------------------------------------------------------

  void normal() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t') {
      do
        ++at_;
      while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'));
    } else if (is_ascii_letter(static_cast<unsigned char>(c))) {
      emit(TokenType::identifier, end_of_identifier(at_ + 1));
    } else if (is_digit(c)) {
      emit(TokenType::number, end_of_number());
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      wide();
    } else {
      punctuation(c);
    }
  }

  std::size_t end_of_identifier(std::size_t at) const {
    while (at < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at]);
      if (ascii_identifier_part[c]) {
        ++at;
        continue;
      }
      if (c < 0x80) break;
      const CodePoint point = decode_utf8(text_, at);
      if (point.value == 0xFFFD || !is_identifier_part(point.value)) break;
      at += point.length;
    }
    return at;
  }

  /// Digits, dots and exponents in any order that does not end with a dot.
  std::size_t end_of_number() const {
    const auto digit = [this](std::size_t i) { return i < text_.size() && is_digit(text_[i]); };
    std::size_t end = at_ + 1;
    for (std::size_t at = end; at < text_.size();) {
      const char c = text_[at];
      if (digit(at)) {
        end = ++at;
      } else if (c == '.') {
        ++at;
      } else if (c == 'e' || c == 'E') {
        std::size_t next = at + 1;
        if (next < text_.size() && (text_[next] == '+' || text_[next] == '-')) ++next;
        if (!digit(next)) break;
        end = at = next + 1;
      } else {
        break;
      }
    }
    return end;
  }

  void wide() {
    const std::size_t length = sequence_length(text_, at_);
    if (length == 0) return take(TokenType::bad_utf8, 1);
    const CodePoint point = decode_utf8(text_, at_);
    if (point.length == length && is_identifier_start(point.value))
      return emit(TokenType::identifier, end_of_identifier(at_ + length));
    take(TokenType::invalid, length);
  }

  void punctuation(char c) {
    const char next = peek(1);
    switch (c) {
      case '\n':
        return take(TokenType::newline, 1);
      case '\r':
        return next == '\n' ? take(TokenType::newline, 2) : take(TokenType::invalid, 1);
      case '#':
        return line_comment();
      case '/':
        return slash(next);
      case '"':
        take(TokenType::open_quote, 1);
        levels_.push_back({Level::Kind::quoted});
        return;
      case '<':
        return less(next);
      case '{':
        take(TokenType::open_brace, 1);
        ++braces_;
        return;
      case '}':
        return close_brace(1);
      case '~':
        return next == '}' ? close_brace(2) : take(TokenType::bitwise_not, 1);
      case '=':
        if (next == '=') return take(TokenType::equal_op, 2);
        return next == '>' ? take(TokenType::fat_arrow, 2) : take(TokenType::equal, 1);
      case '!':
        return next == '=' ? take(TokenType::not_equal, 2) : take(TokenType::bang, 1);
      case '>':
        return next == '=' ? take(TokenType::greater_equal, 2) : take(TokenType::greater, 1);
      case '&':
        return next == '&' ? take(TokenType::logical_and, 2) : take(TokenType::bitwise_and, 1);
      case '|':
        return next == '|' ? take(TokenType::logical_or, 2) : take(TokenType::bitwise_or, 1);
      case '.':
        return next == '.' && peek(2) == '.' ? take(TokenType::ellipsis, 3)
                                             : take(TokenType::dot, 1);
      default:
        return take(simple(c), 1);
    }
  }

  static TokenType simple(char c) {
    static constexpr std::pair<char, TokenType> tokens[]
        = {{'[', TokenType::open_bracket}, {']', TokenType::close_bracket},
           {'(', TokenType::open_paren},   {')', TokenType::close_paren},
           {',', TokenType::comma},        {'*', TokenType::star},
           {'%', TokenType::percent},      {'+', TokenType::plus},
           {'-', TokenType::minus},        {'?', TokenType::question},
           {':', TokenType::colon},        {'^', TokenType::bitwise_xor},
           {';', TokenType::semicolon},    {'`', TokenType::backtick},
           {'\'', TokenType::apostrophe}};
    for (const auto& [symbol, type] : tokens)
      if (symbol == c) return type;
    return TokenType::invalid;
  }

  void line_comment() {
    const std::size_t end = text_.find('\n', at_);
    emit(TokenType::comment, end == std::string_view::npos ? text_.size() : end + 1);
  }

  void slash(char next) {
    if (next == '/') return line_comment();
    if (next == '*' && at_ < unclosed_comment_) {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end != std::string_view::npos) return emit(TokenType::comment, end + 2);
      unclosed_comment_ = at_;  // no later one is closed either
    }
    take(TokenType::slash, 1);
  }

  void less(char next) {
    if (next == '=') return take(TokenType::less_equal, 2);
    if (next == '<' && open_heredoc()) return;
    take(TokenType::less, 1);
  }

  bool open_heredoc() {
    std::size_t begin = at_ + 2;
    if (begin < text_.size() && text_[begin] == '-') ++begin;
    if (begin >= text_.size()) return false;
    const CodePoint first = decode_utf8(text_, begin);
    if (!is_identifier_start(first.value)) return false;
    const std::size_t end = end_of_identifier(begin + first.length);
    std::size_t line_end = end;
    if (line_end < text_.size() && text_[line_end] == '\r') ++line_end;
    if (line_end >= text_.size() || text_[line_end] != '\n') return false;
    emit(TokenType::open_heredoc, line_end + 1);
    levels_.push_back({Level::Kind::heredoc, true, text_.substr(begin, end - begin)});
    return true;
  }

  void close_brace(std::size_t length) {
    const bool ends_sequence = !levels_.empty() && levels_.back().kind == Level::Kind::normal
                               && levels_.back().braces == braces_;
    // A `~}` that closes no template sequence is for the parser to complain about.
    take(ends_sequence || length == 2 ? TokenType::template_end : TokenType::close_brace, length);
    --braces_;
    if (ends_sequence) levels_.pop_back();
  }

  // --- templates -----------------------------------------------------------------------------

  /// `${`, `%{`, their escapes, and lone `$` and `%`. `literal` is the type of plain text here.
  /// Answers false at the end of the text, where nothing tells what a last `$` is.
  bool marker(TokenType literal) {
    const char c = text_[at_];
    if (at_ + 1 >= text_.size()) return false;
    if (peek(1) == '{') {
      const TokenType type = c == '$' ? TokenType::template_interp : TokenType::template_control;
      if (!levels_.empty() && levels_.back().kind == Level::Kind::heredoc)
        levels_.back().start_of_line = false;
      take(type, peek(2) == '~' ? 3 : 2);
      ++braces_;
      levels_.push_back({Level::Kind::normal, true, {}, braces_});
      return true;
    }
    const bool heredoc = !levels_.empty() && levels_.back().kind == Level::Kind::heredoc;
    const bool escape = peek(1) == c && peek(2) == '{';
    // Before the last character of a heredoc's line the two are one token.
    const bool ends_line = heredoc && !escape && at_ + 2 < text_.size() && text_[at_ + 2] == '\n';
    if (heredoc) levels_.back().start_of_line = ends_line;
    if (escape) {
      const std::size_t end = at_ + (peek(3) == '~' ? 4 : 3);
      const std::size_t ending = heredoc ? line_break(end) : 0;
      if (ending > 0) levels_.back().start_of_line = true;
      emit(literal, end + ending);
    } else {
      take(literal, ends_line ? 2 : 1);
    }
    return true;
  }

  void quote() {
    const char c = text_[at_];
    if (c == '"') {
      take(TokenType::close_quote, 1);
      levels_.pop_back();
    } else if (c == '$' || c == '%') {
      if (!marker(TokenType::quoted_literal)) emit(TokenType::invalid, text_.size());
    } else if (c == '\n' || c == '\r') {
      const std::size_t end = text_.find_first_not_of("\r\n", at_);
      emit(TokenType::quoted_newline, end == std::string_view::npos ? text_.size() : end);
    } else {
      const std::size_t end = end_of_text<true>();
      if (end > at_)
        emit(TokenType::quoted_literal, end);
      else if (sequence_length(text_, at_) == 0)
        take(TokenType::bad_utf8, 1);
      else
        take(TokenType::invalid, sequence_length(text_, at_));
    }
  }

  /// The end of a run of plain template text on one line, or within quotes.
  template <bool quoted>
  std::size_t end_of_text() const {
    std::size_t at = at_;
    while (at < text_.size()) {
      const char c = text_[at];
      if (is_plain[static_cast<unsigned char>(c)]) {
        ++at;
        continue;
      }
      if (c == '$' || c == '%' || c == '\n' || c == '\r' || (quoted && c == '"')) break;
      std::size_t begin = at;
      if (quoted && c == '\\') {
        ++begin;
        if (begin >= text_.size() || text_[begin] == '\n' || text_[begin] == '\r') break;
      }
      const std::size_t length = sequence_length(text_, begin);
      if (length == 0) break;
      at = begin + length;
    }
    return at;
  }

  /// After `at`, the line break that starts there: 0, 1 or 2 bytes.
  std::size_t line_break(std::size_t at) const {
    if (at < text_.size() && text_[at] == '\n') return 1;
    return at + 1 < text_.size() && text_[at] == '\r' && text_[at + 1] == '\n' ? 2 : 0;
  }

  void heredoc() {
    if (text_[at_] == '$' || text_[at_] == '%') {
      if (!marker(TokenType::string_literal)) emit(TokenType::invalid, text_.size());
      return;
    }
    const std::size_t end = end_of_text<false>();
    const std::size_t ending = line_break(end);
    Level& level = levels_.back();
    if (ending > 0) {
      const std::string_view line = text_.substr(at_, end - at_);
      if (level.start_of_line && trim_space(line) == level.marker) {
        emit(TokenType::close_heredoc, end);
        emit(TokenType::newline, end + ending);
        levels_.pop_back();
        return;
      }
      level.start_of_line = true;
      emit(TokenType::string_literal, end + ending);
    } else if (end > at_) {
      level.start_of_line = false;
      emit(TokenType::string_literal, end);
    } else if (text_[at_] == '\r') {  // a line break that is none: nothing after it can be trusted
      emit(TokenType::invalid, text_.size());
    } else {
      take(TokenType::bad_utf8, 1);
    }
  }

  void bare() {
    if (text_[at_] == '$' || text_[at_] == '%') {
      if (!marker(TokenType::string_literal)) emit(TokenType::string_literal, text_.size());
      return;
    }
    const std::size_t end = end_of_text<false>();
    const std::size_t ending = line_break(end);
    if (end + ending > at_)
      emit(TokenType::string_literal, end + ending);
    else if (text_[at_] == '\r')
      emit(TokenType::string_literal, text_.size());
    else
      take(TokenType::bad_utf8, 1);
  }

  std::string_view text_;
  Syntax syntax_;
  std::size_t most_;
  std::size_t at_ = 0;
  std::int64_t braces_ = 0;
  std::size_t unclosed_comment_ = std::string_view::npos;
  std::vector<Level> levels_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(std::string_view text, Syntax syntax, std::size_t most) {
  return Lexer{text, syntax, most}.run();
}

}  // namespace nomad::hcl
