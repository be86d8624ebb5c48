#include "runtime/query/filter_parser.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace nomad::query {
namespace {

constexpr std::size_t no_match = std::string_view::npos;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// Characters of a JSON pointer's segment: letters and digits of any alphabet, and some signs.
bool is_pointer_char(char c) {
  return is_letter(c) || is_digit(c) || (static_cast<unsigned char>(c) & 0x80) != 0 || c == '-'
         || c == '_' || c == '.' || c == '~' || c == ':' || c == '|';
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// Reads `digits` digits of base 8 or 16 at `text`, as an escape has them.
std::optional<std::uint32_t> read_digits(std::string_view text,
                                         std::size_t digits,
                                         std::uint32_t base) {
  if (text.size() < digits) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text.substr(0, digits)) {
    std::uint32_t digit = 99;
    if (is_digit(c)) digit = static_cast<std::uint32_t>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<std::uint32_t>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') digit = static_cast<std::uint32_t>(c - 'A' + 10);
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

/// One escape of a Go string, without its backslash; moves `rest` behind it.
bool append_escape(std::string& out, std::string_view& rest) {
  static constexpr std::string_view names = "abfnrtv\\\"";
  static constexpr std::string_view meanings = "\a\b\f\n\r\t\v\\\"";
  if (rest.empty()) return false;
  const char c = rest.front();
  if (const auto known = names.find(c); known != std::string_view::npos) {
    out += meanings[known];
    rest.remove_prefix(1);
    return true;
  }
  const bool is_octal = c >= '0' && c <= '7';
  const std::size_t size = is_octal ? 3 : c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (size == 0) return false;
  const auto code = read_digits(rest.substr(is_octal ? 0 : 1), size, is_octal ? 8 : 16);
  if (!code || (is_octal && *code > 255)) return false;
  const bool is_text = c == 'u' || c == 'U';
  if (is_text && (*code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000))) return false;
  if (is_text)
    append_utf8(out, *code);
  else
    out += static_cast<char>(*code);
  rest.remove_prefix(size + (is_octal ? 0 : 1));
  return true;
}

/// Go's strconv.Unquote for the two kinds of quotes that the grammar has.
std::optional<std::string> unquote(std::string_view quoted) {
  auto rest = quoted.substr(1, quoted.size() - 2);
  std::string out;
  if (quoted.front() == '`') {
    for (const char c : rest)
      if (c != '\r') out += c;
    return out;
  }
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '\n') return std::nullopt;
    if (c != '\\')
      out += c;
    else if (!append_escape(out, rest))
      return std::nullopt;
  }
  return out;
}

/// "~1" is '/' and "~0" is '~' in a JSON pointer.
std::string unescape_pointer(std::string_view segment) {
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const bool escapes = segment[i] == '~' && i + 1 < segment.size();
    if (escapes && (segment[i + 1] == '0' || segment[i + 1] == '1'))
      out += segment[++i] == '0' ? '~' : '/';
    else
      out += segment[i];
  }
  return out;
}

enum class Rule : std::uint8_t {
  disjunction,
  conjunction,
  negation,
  collection,
  grouping,
  match,
  selector,
  value,
  string,
};

/// What a rule came to at some place.
struct Found {
  std::size_t end = no_match;
  std::shared_ptr<const Expression> expression;  ///< Of rules that make one.
  Selector selector;
  std::string text;

  explicit operator bool() const { return end != no_match; }
};

class Parser {
public:
  explicit Parser(std::string_view text) : text_{text} {}

  Result<std::shared_ptr<const Expression>> parse() {
    auto found = input();
    if (too_deep_)
      return Error{Errc::invalid_argument, "the expression is nested too deeply: at most "
                                               + std::to_string(max_filter_nesting) + " levels and "
                                               + std::to_string(max_filter_terms) + " terms"};
    if (!errors_.empty()) {
      std::string all;
      for (const auto& error : errors_)
        (all += all.empty() ? "" : "\n") += error;
      return Error{Errc::invalid_argument, all};
    }
    if (!found) return Error{Errc::invalid_argument, expectations()};
    return found.expression;
  }

private:
  // --- what could have stood where -------------------------------------------------------------

  /// Notes that `wanted` was (not) found at `at`; inside a negative look-ahead the other way round.
  void note(bool found, std::size_t at, std::string_view wanted) {
    if (found != inverted_ || at < farthest_) return;
    if (at > farthest_) {
      farthest_ = at;
      wanted_.clear();
    }
    wanted_.insert((inverted_ ? "!" : "") + std::string{wanted});
  }

  /// "line:column (offset)": columns count characters from 1, a line's end begins the next line.
  std::string place(std::size_t at) const {
    std::size_t line = 1;
    std::size_t column = 0;
    for (std::size_t i = 0; i <= at; ++i) {
      if (i < text_.size() && (static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80) continue;
      ++column;
      if (i < text_.size() && text_[i] == '\n') {
        ++line;
        column = 0;
      }
    }
    return std::to_string(line) + ':' + std::to_string(column) + " (" + std::to_string(at) + ')';
  }

  std::string expectations() const {
    std::vector<std::string> all;
    bool has_end = false;
    for (const auto& wanted : wanted_) {
      if (wanted == "!.")
        has_end = true;
      else
        all.push_back(wanted);
    }
    if (has_end) all.emplace_back("EOF");
    std::string out = place(farthest_) + ": no match found, expected: ";
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != 0) out += i + 1 == all.size() ? " or " : ", ";
      out += all[i];
    }
    return out;
  }

  void fail(std::size_t at, std::string_view rule, std::string_view problem) {
    auto error = place(at) + ": rule \"" + std::string{rule} + "\": " + std::string{problem};
    if (std::find(errors_.begin(), errors_.end(), error) == errors_.end())
      errors_.push_back(std::move(error));
  }

  // --- terminals: each returns the place behind it, or no_match --------------------------------

  std::size_t literal(std::size_t at, std::string_view word) {
    const bool found = text_.substr(at).starts_with(word);
    std::string shown = "\"";
    for (const char c : word)
      (shown += c == '"' ? "\\" : "") += c;
    note(found, at, shown + '"');
    return found ? at + word.size() : no_match;
  }

  template <class Predicate>
  std::size_t one_of(std::size_t at, Predicate predicate, std::string_view name) {
    const bool found = at < text_.size() && predicate(text_[at]);
    note(found, at, name);
    return found ? at + 1 : no_match;
  }

  template <class Predicate>
  std::size_t many_of(std::size_t at, Predicate predicate, std::string_view name) {
    for (auto next = at; next != no_match; next = one_of(at, predicate, name))
      at = next;
    return at;
  }

  std::size_t letter(std::size_t at) { return one_of(at, is_letter, "[a-zA-Z]"); }

  std::size_t any_char(std::size_t at) {
    note(at < text_.size(), at, ".");
    return at < text_.size() ? at + 1 : no_match;
  }

  std::size_t end(std::size_t at) {
    inverted_ = !inverted_;
    const bool is_end = any_char(at) == no_match;
    inverted_ = !inverted_;
    return is_end ? at : no_match;
  }

  /// At least one white space.
  std::size_t space(std::size_t at) {
    const auto first = one_of(at, is_space, R"([ \t\r\n])");
    return first == no_match ? no_match : many_of(first, is_space, R"([ \t\r\n])");
  }

  std::size_t maybe_space(std::size_t at) {
    const auto behind = space(at);
    return behind == no_match ? at : behind;
  }

  /// Words with white space around and between them: `_ "is" _ "not" …`.
  std::size_t words(std::size_t at,
                    std::initializer_list<std::string_view> words,
                    bool space_behind) {
    for (const auto word : words) {
      at = space(at);
      if (at == no_match) return no_match;
      at = literal(at, word);
      if (at == no_match) return no_match;
    }
    return space_behind ? space(at) : at;
  }

  std::size_t identifier(std::size_t at) {
    const auto first = letter(at);
    if (first == no_match) return no_match;
    const auto is_part = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '/'; };
    return many_of(first, is_part, "[a-zA-Z0-9_/]");
  }

  std::string slice(std::size_t from, std::size_t to) const {
    return std::string{text_.substr(from, to - from)};
  }

  // --- rules -----------------------------------------------------------------------------------

  /// The result of `rule` at `at`, worked out once.
  Found apply(Rule rule, std::size_t at) {
    const auto key = at * 16 + static_cast<std::size_t>(rule);
    if (!inverted_)
      if (const auto known = memory_.find(key); known != memory_.end()) return known->second;
    Found found = work_out(rule, at);
    if (!inverted_ && !too_deep_) memory_.emplace(key, found);
    return found;
  }

  Found work_out(Rule rule, std::size_t at) {
    switch (rule) {
      case Rule::disjunction:
        return disjunction(at);
      case Rule::conjunction:
        return conjunction(at);
      case Rule::negation:
        return negation(at);
      case Rule::collection:
        return collection(at);
      case Rule::grouping:
        return grouping(at);
      case Rule::match:
        return match(at);
      case Rule::selector:
        return selector(at);
      case Rule::value:
        return value(at);
      case Rule::string:
        return string(at);
    }
    return {};
  }

  Found input() {
    if (const auto open = literal(maybe_space(0), "("); open != no_match) {
      ++nesting_;
      auto inner = apply(Rule::disjunction, maybe_space(open));
      --nesting_;
      if (inner) {
        const auto close = literal(maybe_space(inner.end), ")");
        if (close != no_match && end(maybe_space(close)) != no_match) return inner;
      }
    }
    auto whole = apply(Rule::disjunction, maybe_space(0));
    if (whole && end(maybe_space(whole.end)) != no_match) return whole;
    return {};
  }

  static Found joined(Expression::Kind kind, const Found& left, const Found& right) {
    auto expression = std::make_shared<Expression>();
    expression->kind = kind;
    expression->left = left.expression;
    expression->right = right.expression;
    return {right.end, std::move(expression), {}, {}};
  }

  Found disjunction(std::size_t at) {
    const auto deeper = enter(terms_, max_filter_terms);
    if (!deeper) return {};
    const auto left = apply(Rule::conjunction, at);
    if (left) {
      if (const auto behind = words(left.end, {"or"}, true); behind != no_match)
        if (const auto right = apply(Rule::disjunction, behind))
          return joined(Expression::Kind::disjunction, left, right);
      return left;
    }
    return apply(Rule::collection, at);
  }

  Found conjunction(std::size_t at) {
    const auto deeper = enter(terms_, max_filter_terms);
    if (!deeper) return {};
    const auto left = apply(Rule::negation, at);
    if (!left) return {};
    if (const auto behind = words(left.end, {"and"}, true); behind != no_match)
      if (const auto right = apply(Rule::conjunction, behind))
        return joined(Expression::Kind::conjunction, left, right);
    return left;
  }

  Found negation(std::size_t at) {
    if (const auto word = literal(at, "not"); word != no_match) {
      if (const auto behind = space(word); behind != no_match) {
        const auto deeper = enter(nesting_, max_filter_nesting);
        if (!deeper) return {};
        if (const auto operand = apply(Rule::negation, behind)) {
          auto expression = std::make_shared<Expression>();
          expression->kind = Expression::Kind::negation;
          expression->left = operand.expression;
          return {operand.end, std::move(expression), {}, {}};
        }
      }
    }
    return apply(Rule::grouping, at);
  }

  Found grouping(std::size_t at) {
    const auto open = literal(at, "(");
    if (open != no_match) {
      const auto deeper = enter(nesting_, max_filter_nesting);
      if (!deeper) return {};
      const auto inner = apply(Rule::disjunction, maybe_space(open));
      if (inner) {
        const auto behind = maybe_space(inner.end);
        if (const auto close = literal(behind, ")"); close != no_match)
          return {close, inner.expression, {}, {}};
        if (const auto other = apply(Rule::match, at)) return other;
        fail(behind, "grouping", "Unmatched parentheses");
        return {};
      }
    }
    return apply(Rule::match, at);
  }

  Found collection(std::size_t at) {
    auto kind = Expression::Kind::any;
    auto word = literal(at, "any");
    auto behind = word == no_match ? no_match : space(word);
    if (behind == no_match) {
      kind = Expression::Kind::all;
      word = literal(at, "all");
      behind = word == no_match ? no_match : space(word);
    }
    if (behind == no_match) return {};
    const auto over = apply(Rule::selector, behind);
    if (!over) return {};
    const auto names = words(over.end, {"as"}, true);
    if (names == no_match) return {};
    auto expression = std::make_shared<Expression>();
    expression->kind = kind;
    expression->selector = over.selector;
    const auto named = binding(names, *expression);
    if (named == no_match) return {};
    const auto open = literal(maybe_space(named), "{");
    if (open == no_match) return {};
    const auto deeper = enter(nesting_, max_filter_nesting);
    if (!deeper) return {};
    const auto inner = apply(Rule::disjunction, maybe_space(open));
    if (!inner) return {};
    const auto close = literal(maybe_space(inner.end), "}");
    if (close == no_match) return {};
    expression->left = inner.expression;
    return {close, std::move(expression), {}, {}};
  }

  std::size_t comma(std::size_t at) {
    const auto sign = literal(maybe_space(at), ",");
    return sign == no_match ? no_match : maybe_space(sign);
  }

  /// "i, v", "i, _", "_, v" or "x".
  std::size_t binding(std::size_t at, Expression& target) {
    const auto first = identifier(at);
    if (first != no_match) {
      const auto behind = comma(first);
      if (behind != no_match) {
        if (const auto second = identifier(behind); second != no_match) {
          target.index_name = slice(at, first);
          target.value_name = slice(behind, second);
          return second;
        }
        if (const auto blank = literal(behind, "_"); blank != no_match) {
          target.index_name = slice(at, first);
          return blank;
        }
      }
    }
    if (const auto blank = literal(at, "_"); blank != no_match)
      if (const auto behind = comma(blank); behind != no_match)
        if (const auto second = identifier(behind); second != no_match) {
          target.value_name = slice(behind, second);
          return second;
        }
    if (first != no_match) target.element_name = slice(at, first);
    return first;
  }

  // --- matches ---------------------------------------------------------------------------------

  static Found matched(std::size_t end, const Selector& selector, MatchOp op, std::string value) {
    auto expression = std::make_shared<Expression>();
    expression->selector = selector;
    expression->op = op;
    expression->value = std::move(value);
    return {end, std::move(expression), {}, {}};
  }

  /// `==` or `!=`, with or without spaces.
  std::size_t sign(std::size_t at, std::string_view sign) {
    const auto behind = literal(maybe_space(at), sign);
    return behind == no_match ? no_match : maybe_space(behind);
  }

  std::pair<std::size_t, MatchOp> binary_operator(std::size_t at) {
    if (const auto e = sign(at, "=="); e != no_match) return {e, MatchOp::equal};
    if (const auto e = sign(at, "!="); e != no_match) return {e, MatchOp::not_equal};
    if (const auto e = words(at, {"contains"}, true); e != no_match) return {e, MatchOp::in};
    if (const auto e = words(at, {"not", "contains"}, true); e != no_match)
      return {e, MatchOp::not_in};
    if (const auto e = words(at, {"matches"}, true); e != no_match) return {e, MatchOp::matches};
    if (const auto e = words(at, {"not", "matches"}, true); e != no_match)
      return {e, MatchOp::not_matches};
    return {no_match, MatchOp::equal};
  }

  Found match(std::size_t at) {
    if (const auto left = apply(Rule::selector, at)) {
      if (const auto [behind, op] = binary_operator(left.end); behind != no_match)
        if (const auto right = apply(Rule::value, behind))
          return matched(right.end, left.selector, op, right.text);
      if (const auto e = words(left.end, {"is", "empty"}, false); e != no_match)
        return matched(e, left.selector, MatchOp::is_empty, "");
      if (const auto e = words(left.end, {"is", "not", "empty"}, false); e != no_match)
        return matched(e, left.selector, MatchOp::is_not_empty, "");
    }
    const auto element = apply(Rule::value, at);
    if (!element) return {};
    auto op = MatchOp::in;
    auto behind = words(element.end, {"in"}, true);
    if (behind == no_match) {
      op = MatchOp::not_in;
      behind = words(element.end, {"not", "in"}, true);
    }
    if (behind == no_match) return {};
    if (const auto right = apply(Rule::selector, behind))
      return matched(right.end, right.selector, op, element.text);
    fail(behind, "match", "Invalid selector");
    return {};
  }

  // --- selectors and values --------------------------------------------------------------------

  Found selector(std::size_t at) {
    Found found;
    if (const auto first = identifier(at); first != no_match) {
      found.selector.path.push_back(slice(at, first));
      found.end = first;
      while (step(found)) {
      }
      return found;
    }
    auto next = literal(at, "\"");
    if (next == no_match) return {};
    for (auto slash = literal(next, "/"); slash != no_match; slash = literal(next, "/")) {
      const auto first = one_of(slash, is_pointer_char, R"([\pL\pN-_.~:|])");
      if (first == no_match) break;
      const auto last = many_of(first, is_pointer_char, R"([\pL\pN-_.~:|])");
      found.selector.path.push_back(unescape_pointer(text_.substr(slash, last - slash)));
      next = last;
    }
    next = literal(next, "\"");
    if (next == no_match) return {};
    found.selector.is_pointer = true;
    found.end = next;
    return found;
  }

  /// One `.name`, `["key"]` or `.0` behind a selector.
  bool step(Found& found) {
    const auto dot = literal(found.end, ".");
    if (dot != no_match)
      if (const auto name = identifier(dot); name != no_match) {
        found.selector.path.push_back(slice(dot, name));
        found.end = name;
        return true;
      }
    if (auto key = index(found.end)) {
      found.selector.path.push_back(std::move(key.text));
      found.end = key.end;
      return true;
    }
    if (dot == no_match) return false;
    const auto first = one_of(dot, is_digit, "[0-9]");
    if (first == no_match) return false;
    const auto last = many_of(first, is_digit, "[0-9]");
    found.selector.path.push_back(slice(dot, last));
    found.end = last;
    return true;
  }

  Found index(std::size_t at) {
    const auto open = literal(at, "[");
    if (open == no_match) return {};
    const auto inner = maybe_space(open);
    const auto key = apply(Rule::string, inner);
    if (!key) {
      fail(inner, "index", "Invalid index");
      return {};
    }
    const auto behind = maybe_space(key.end);
    if (const auto close = literal(behind, "]"); close != no_match)
      return {close, nullptr, {}, key.text};
    fail(behind, "index", "Unclosed index expression");
    return {};
  }

  Found value(std::size_t at) {
    if (auto found = apply(Rule::selector, at)) {
      // A text that happens to look like a pointer is taken as it is written.
      found.text = found.selector.is_pointer ? slice(at + 1, found.end - 1) : found.selector.text();
      return found;
    }
    if (auto found = number(at)) return found;
    return apply(Rule::string, at);
  }

  Found number(std::size_t at) {
    auto next = literal(at, "-");
    if (next == no_match) next = at;
    auto digits = literal(next, "0");
    if (digits == no_match) {
      digits = one_of(
          next, [](char c) { return c >= '1' && c <= '9'; }, "[1-9]");
      if (digits == no_match) return {};
      digits = many_of(digits, is_digit, "[0-9]");
    }
    if (const auto dot = literal(digits, "."); dot != no_match)
      if (const auto first = one_of(dot, is_digit, "[0-9]"); first != no_match)
        digits = many_of(first, is_digit, "[0-9]");
    if (space(digits) != no_match || end(digits) != no_match || literal(digits, ")") != no_match)
      return {digits, nullptr, {}, slice(at, digits)};
    fail(digits, "number", "Invalid number literal");
    return {};
  }

  Found string(std::size_t at) {
    for (const char quote : {'`', '"'}) {
      const std::string_view mark{&quote, 1};
      const auto open = literal(at, mark);
      if (open == no_match) continue;
      const auto close = text_.find(quote, open);
      if (close == no_match) {
        note(false, text_.size(), ".");
        note(false, text_.size(), quote == '"' ? R"("\"")" : "\"`\"");
        fail(text_.size(), "string", "Unterminated string literal");
        return {};
      }
      auto text = unquote(text_.substr(at, close + 1 - at));
      if (!text) {
        fail(at, "string", "invalid syntax");
        text.emplace();
      }
      return {close + 1, nullptr, {}, std::move(*text)};
    }
    return {};
  }

  // --- depth -----------------------------------------------------------------------------------

  /// Counts a level down as long as it lives.
  class Level {
  public:
    Level(int& depth, bool allowed) : depth_{allowed ? &depth : nullptr} {
      if (depth_ != nullptr) ++*depth_;
    }

    Level(const Level&) = delete;

    ~Level() {
      if (depth_ != nullptr) --*depth_;
    }

    explicit operator bool() const { return depth_ != nullptr; }

  private:
    int* depth_;
  };

  Level enter(int& depth, int limit) {
    if (depth >= limit) too_deep_ = true;
    return {depth, !too_deep_};
  }

  const std::string_view text_;
  std::unordered_map<std::size_t, Found> memory_;
  std::size_t farthest_ = 0;
  std::set<std::string> wanted_;
  std::vector<std::string> errors_;
  bool inverted_ = false;
  bool too_deep_ = false;
  int nesting_ = 0;
  int terms_ = 0;
};

}  // namespace

std::string Selector::text() const {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i != 0) out += is_pointer ? '/' : '.';
    out += path[i];
  }
  return out;
}

Result<std::shared_ptr<const Expression>> parse_filter(std::string_view text) {
  return Parser{text}.parse();
}

}  // namespace nomad::query
