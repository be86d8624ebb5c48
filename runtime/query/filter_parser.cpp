#include "runtime/query/filter_parser.hpp"

#include <unordered_map>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/query/filter_scanner.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::query {
namespace {

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

constexpr std::size_t no_match = FilterScanner::no_match;

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

class Parser : FilterScanner {
public:
  explicit Parser(std::string_view text) : FilterScanner{text} {}

  Result<std::shared_ptr<const Expression>> parse() {
    auto found = input();
    if (too_deep_)
      return Error{Errc::invalid_argument, "the expression is nested too deeply: at most "
                                               + std::to_string(max_filter_nesting) + " levels and "
                                               + std::to_string(max_filter_terms) + " terms"};
    if (!errors().empty()) {
      std::string all;
      for (const auto& error : errors())
        (all += all.empty() ? "" : "\n") += error;
      return Error{Errc::invalid_argument, all};
    }
    if (!found) return Error{Errc::invalid_argument, expectations()};
    return found.expression;
  }

private:
  // --- rules -----------------------------------------------------------------------------------

  /// The result of `rule` at `at`, worked out once.
  Found apply(Rule rule, std::size_t at) {
    const auto key = at * 16 + static_cast<std::size_t>(rule);
    if (const auto known = memory_.find(key); known != memory_.end()) return known->second;
    Found found = work_out(rule, at);
    if (!too_deep_) memory_.emplace(key, found);
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
      found.selector.path.push_back(unescape_pointer(text().substr(slash, last - slash)));
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
      const auto close = text().find(quote, open);
      if (close == no_match) {
        note(false, text().size(), ".");
        note(false, text().size(), quote == '"' ? R"("\"")" : "\"`\"");
        fail(text().size(), "string", "Unterminated string literal");
        return {};
      }
      auto content = unquote(text().substr(at, close + 1 - at));
      if (!content) {
        fail(at, "string", "invalid syntax");
        content.emplace();
      }
      return {close + 1, nullptr, {}, std::move(*content)};
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

  std::unordered_map<std::size_t, Found> memory_;
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
