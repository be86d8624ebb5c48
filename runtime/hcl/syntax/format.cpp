// The layout is decided token by token, in passes over lines of three cells: what leads, an
// assignment (from the equals sign on), and a comment at the end. First the indentation of each
// line follows the brackets that are open, then the space between two neighbours follows from their
// types, then assignments and comments of consecutive lines are aligned.
//
// Nothing depends on the white space that was there; hence a second run changes nothing, as long as
// the tokens are the same. Where leaving out a space would join two tokens, it stays.
#include "runtime/hcl/syntax/format.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/hcl/syntax/lexer.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "runtime/hcl/syntax/source.hpp"

namespace nomad::hcl {

namespace {

struct LaidOut {
  Token token;
  std::uint32_t columns = 0;  // of the token itself
  std::uint32_t spaces = 0;   // before it
  bool keep_apart = false;    // from the token before, which it would melt into
};

using Cell = std::span<LaidOut>;

struct Line {
  Cell lead;
  Cell assign;
  Cell comment;
};

int bracket_change(TokenType type) {
  switch (type) {
    case TokenType::open_brace:
    case TokenType::open_bracket:
    case TokenType::open_paren:
    case TokenType::template_control:
    case TokenType::template_interp:
      return 1;
    case TokenType::close_brace:
    case TokenType::close_bracket:
    case TokenType::close_paren:
    case TokenType::template_end:
      return -1;
    default:
      return 0;
  }
}

int bracket_change(Cell cell) {
  int out = 0;
  for (const LaidOut& item : cell)
    out += bracket_change(item.token.type);
  return out;
}

std::uint32_t columns(Cell cell) {
  std::uint32_t out = 0;
  for (const LaidOut& item : cell)
    out += item.spaces + item.columns;
  return out;
}

/// Whether a minus after a token of this type is a sign.
bool precedes_sign(TokenType type) {
  switch (type) {
    case TokenType::end_of_file:  // nothing before
    case TokenType::open_paren:
    case TokenType::open_brace:
    case TokenType::open_bracket:
    case TokenType::equal:
    case TokenType::colon:
    case TokenType::comma:
    case TokenType::question:
    case TokenType::plus:
    case TokenType::star:
    case TokenType::slash:
    case TokenType::percent:
    case TokenType::minus:
    case TokenType::equal_op:
    case TokenType::not_equal:
    case TokenType::greater:
    case TokenType::greater_equal:
    case TokenType::less:
    case TokenType::less_equal:
    case TokenType::logical_and:
    case TokenType::logical_or:
    case TokenType::bang:
      return true;
    default:
      return false;
  }
}

bool is_template_text(TokenType type) {
  return type == TokenType::quoted_literal || type == TokenType::string_literal;
}

class Formatter {
public:
  explicit Formatter(std::string_view text) : text_{text} {
    for (const Token& token : lex(text, Syntax::native)) {
      const std::string_view bytes = text.substr(token.begin, token.end - token.begin);
      tokens_.push_back({token, static_cast<std::uint32_t>(count_grapheme_clusters(bytes))});
    }
    // Spaces before the end of the text belong to no line.
    const std::size_t last = tokens_.size() - 1;
    tokens_[last].spaces = tokens_[last].token.begin - (last > 0 ? tokens_[last - 1].token.end : 0);
  }

  std::string run() {
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
      split_lines();
      indent();
      for (Line& line : lines_) {
        space(line.lead);
        if (!line.assign.empty()) line.assign.front().spaces = 1;
        space(line.assign);
      }
      align(&Line::assign);
      align(&Line::comment);
      std::string out;
      if (!write(out)) break;
      if (same_tokens(out)) return out;
    }
    return std::string{text_};
  }

private:
  std::string_view bytes(const LaidOut& item) const {
    return text_.substr(item.token.begin, item.token.end - item.token.begin);
  }

  bool ends_line(const LaidOut& item) const {
    return item.token.type == TokenType::newline
           || (item.token.type == TokenType::comment && bytes(item).ends_with('\n'));
  }

  void split_lines() {
    lines_.clear();
    std::size_t begin = 0;
    const std::size_t end = tokens_.size() - 1;  // without the end of the text
    for (std::size_t i = 0; i < end; ++i) {
      if (!ends_line(tokens_[i])) continue;
      lines_.push_back({Cell{tokens_}.subspan(begin, i + 1 - begin), {}, {}});
      begin = i + 1;
    }
    lines_.push_back({Cell{tokens_}.subspan(begin, end - begin), {}, {}});
    for (Line& line : lines_)
      split_cells(line);
  }

  static void split_cells(Line& line) {
    if (line.lead.size() > 1 && line.lead.back().token.type == TokenType::comment) {
      line.comment = line.lead.last(1);
      line.lead = line.lead.first(line.lead.size() - 1);
    }
    for (std::size_t i = 1; i < line.lead.size(); ++i) {
      if (line.lead[i].token.type != TokenType::equal) continue;
      if (bracket_change(line.lead.subspan(i)) == 0) {  // else the value goes on below
        line.assign = line.lead.subspan(i);
        line.lead = line.lead.first(i);
      }
      return;
    }
  }

  /// Two spaces for each line that left brackets open, however many those were.
  void indent() {
    std::vector<int> open;
    for (Line& line : lines_) {
      if (line.lead.empty()) continue;
      LaidOut& first = line.lead.front();
      if (first.token.type == TokenType::newline) {
        first.spaces = 0;
        continue;
      }
      int change = bracket_change(line.assign);
      for (const LaidOut& item : line.lead) {
        change += bracket_change(item.token.type);
        if (item.token.type == TokenType::open_heredoc) break;
      }
      for (int closed = -change; closed > 0 && !open.empty();) {
        const int taken = std::min(closed, open.back());
        closed -= taken;
        open.back() -= taken;
        if (open.back() == 0) open.pop_back();
      }
      first.spaces = static_cast<std::uint32_t>(2 * open.size());
      if (change > 0) open.push_back(change);
    }
  }

  void space(Cell cell) {
    for (std::size_t i = 0; i + 1 < cell.size(); ++i) {
      const TokenType before = i > 0 ? cell[i - 1].token.type : TokenType::end_of_file;
      cell[i + 1].spaces
          = space_between(before, cell[i], cell[i + 1].token.type) || cell[i + 1].keep_apart ? 1
                                                                                             : 0;
    }
  }

  /// Whether a space stands between `subject`, which follows `before`, and `after`.
  bool space_between(TokenType before, const LaidOut& subject, TokenType after) const {
    const TokenType type = subject.token.type;
    if (after == TokenType::newline) return false;
    if (type == TokenType::identifier && after == TokenType::open_paren) return false;
    if (type == TokenType::dot || after == TokenType::dot) return false;
    if (after == TokenType::comma || after == TokenType::ellipsis) return false;
    if (type == TokenType::comma) return true;
    if (is_template_text(type) || is_template_text(after) || type == TokenType::open_quote
        || type == TokenType::open_heredoc || after == TokenType::close_quote
        || after == TokenType::close_heredoc)
      return false;
    if (type == TokenType::identifier && before == TokenType::identifier && bytes(subject) == "in")
      return true;  // `for x in [a]`, not an index
    if (after == TokenType::open_bracket
        && (type == TokenType::identifier || type == TokenType::number || bracket_change(type) < 0))
      return false;
    if (type == TokenType::bang) return false;
    if (type == TokenType::minus) return !precedes_sign(before);
    if (type == TokenType::open_brace || after == TokenType::close_brace)
      return type != TokenType::open_brace || after != TokenType::close_brace;
    const bool opens_template
        = type == TokenType::template_interp || type == TokenType::template_control;
    if (opens_template && after == TokenType::open_brace) return true;
    if (type == TokenType::close_brace && after == TokenType::template_end) return true;
    if (type == TokenType::template_end
        && (after == TokenType::template_interp || after == TokenType::template_control))
      return false;
    return bracket_change(type) <= 0 && bracket_change(after) >= 0;
  }

  /// Puts a cell of consecutive lines that have it below each other.
  void align(Cell Line::*cell) {
    for (std::size_t begin = 0; begin < lines_.size();) {
      if ((lines_[begin].*cell).empty()) {
        ++begin;
        continue;
      }
      std::size_t end = begin;
      std::uint32_t widest = 0;
      const auto before = [&](const Line& line) {
        return columns(line.lead) + (cell == &Line::comment ? columns(line.assign) : 0);
      };
      for (; end < lines_.size() && !(lines_[end].*cell).empty(); ++end)
        widest = std::max(widest, before(lines_[end]));
      for (; begin < end; ++begin)
        (lines_[begin].*cell).front().spaces = widest - before(lines_[begin]) + 1;
    }
  }

  /// False when the result would be out of proportion.
  bool write(std::string& out) const {
    constexpr std::uint64_t slack = 64U << 10U;
    constexpr std::uint64_t factor = 16;
    std::uint64_t spaces = 0;
    for (const LaidOut& item : tokens_)
      spaces += item.spaces;
    if (spaces > factor * text_.size() + slack) return false;
    out.reserve(text_.size() + spaces);
    for (const LaidOut& item : tokens_) {
      out.append(item.spaces, ' ');
      out += bytes(item);
    }
    return true;
  }

  /// Whether `out` has the same tokens; if not, marks the first that melted into its neighbour.
  bool same_tokens(std::string_view out) {
    const std::vector<Token> tokens = lex(out, Syntax::native);
    for (std::size_t i = 0; i < tokens.size() && i < tokens_.size(); ++i) {
      const LaidOut& wanted = tokens_[i];
      if (tokens[i].type == wanted.token.type
          && out.substr(tokens[i].begin, tokens[i].end - tokens[i].begin) == bytes(wanted))
        continue;
      keep_dots_apart();
      tokens_[std::min(i + 1, tokens_.size() - 1)].keep_apart = true;
      return false;
    }
    return tokens.size() == tokens_.size();
  }

  /// `a . 0 . 1` would read as a fraction.
  void keep_dots_apart() {
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
      const bool dot
          = tokens_[i].token.type == TokenType::dot || tokens_[i - 1].token.type == TokenType::dot;
      if (dot && tokens_[i].token.begin > tokens_[i - 1].token.end) tokens_[i].keep_apart = true;
    }
  }

  std::string_view text_;
  std::vector<LaidOut> tokens_;
  std::vector<Line> lines_;
};

}  // namespace

std::string format(std::string_view text) {
  if (text.empty() || !parse("", std::string{text}).ok()) return std::string{text};
  return Formatter{text}.run();
}

}  // namespace nomad::hcl
