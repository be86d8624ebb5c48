#include "runtime/config/hcl1.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::config {
namespace {

constexpr int max_depth = 64;

bool is_word_start(char c) {
  return is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_word(char c) {
  return is_word_start(c) || is_digit(c) || c == '-' || c == '.';
}

/// Reads from the front of a text. The first error stays; after it everything reads as nothing.
class Reader {
public:
  Reader(std::string_view file, std::string_view text, KeyLines& lines)
      : file_{file}, text_{text}, lines_{lines} {}

  Result<boost::json::object> run() {
    auto tree = object(0);
    if (!error_ && !at_end()) fail("expected a key");
    if (error_) return *error_;
    return tree;
  }

private:
  bool at_end() const { return at_ >= text_.size(); }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void fail(std::string_view what) {
    if (error_) return;
    const auto before = text_.substr(0, std::min(at_, text_.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto start = before.rfind('\n');
    const auto column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
    error_ = Error{Errc::invalid_argument, fmt::format("{}:{},{}: {}", file_, line, column, what)};
    at_ = text_.size();
  }

  /// Passes over space and comments.
  void skip() {
    while (!at_end()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else if (c == '#' || (c == '/' && peek(1) == '/')) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && peek(1) == '*') {
        const auto end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return fail("a comment does not end");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  bool take(char c) {
    skip();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  boost::json::object object(int depth) {
    boost::json::object tree;
    if (depth > max_depth) fail("blocks are nested too deeply");
    for (skip(); !error_ && !at_end() && peek() != '}'; skip()) {
      item(tree, depth);
      take(',');
    }
    return tree;
  }

  void item(boost::json::object& tree, int depth) {
    std::vector<std::string> keys;
    skip();
    counted_lines_ += static_cast<std::uint32_t>(
        std::ranges::count(text_.substr(counted_, at_ - counted_), '\n'));
    counted_ = at_;
    for (; peek() == '"' || is_word_start(peek()) || is_digit(peek()); skip())
      keys.push_back(peek() == '"' ? in_quotes() : word());
    if (error_) return;
    if (keys.empty()) return fail("expected a key");
    const auto outer_path = path_.size();
    for (const auto& key : keys) {
      path_.append(path_.empty() ? "" : ".").append(key);
      lines_.emplace(path_, counted_lines_);
    }
    boost::json::value content;
    if (keys.size() == 1 && take('=')) {
      content = value(depth);
    } else if (take('{')) {
      content = object(depth + 1);
      if (!error_ && !take('}')) fail("expected a closing brace");
    } else {
      return fail(keys.size() == 1 ? "expected \"=\" or a block" : "expected a block");
    }
    path_.resize(outer_path);
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
      boost::json::object outer;
      outer[*key] = std::move(content);
      content = std::move(outer);
    }
    if (!error_) merge_trees(tree, content.get_object());
  }

  boost::json::value value(int depth) {
    if (depth > max_depth) fail("values are nested too deeply");
    skip();
    const char c = peek();
    if (c == '"') return boost::json::value(in_quotes());
    if (c == '<' && peek(1) == '<') return boost::json::value(heredoc());
    if (c == '-' || is_digit(c)) return number();
    if (take('{')) {
      auto tree = object(depth + 1);
      if (!error_ && !take('}')) fail("expected a closing brace");
      return tree;
    }
    if (take('[')) return list(depth);
    const auto start = at_;
    const auto name = is_word_start(c) ? word() : std::string{};
    if (name == "true" || name == "false") return name == "true";
    at_ = start;
    fail("expected a value");
    return nullptr;
  }

  boost::json::value list(int depth) {
    boost::json::array elements;
    while (!error_ && !take(']')) {
      elements.push_back(value(depth + 1));
      if (!take(',') && !error_) {
        if (!take(']')) fail("expected a comma or a closing bracket");
        break;
      }
    }
    return elements;
  }

  std::string word() {
    const auto start = at_;
    while (is_word(peek()))
      ++at_;
    return std::string{text_.substr(start, at_ - start)};
  }

  boost::json::value number() {
    const auto start = at_;
    if (peek() == '-') ++at_;
    while (is_word(peek()) || ((peek() == '+' || peek() == '-') && (text_[at_ - 1] | 0x20) == 'e'))
      ++at_;
    const auto digits = text_.substr(start, at_ - start);
    const auto* end = digits.data() + digits.size();
    const bool negative = digits.front() == '-';
    auto bare = digits.substr(negative ? 1 : 0);
    int base = 10;
    if (bare.starts_with("0x") || bare.starts_with("0X"))
      base = 16;
    else if (bare.size() > 1 && bare.front() == '0' && bare.find('.') == std::string_view::npos)
      base = 8;
    if (base == 16) bare.remove_prefix(2);
    std::int64_t whole = 0;
    if (const auto [stop, problem] = std::from_chars(bare.data(), end, whole, base);
        problem == std::errc{} && stop == end && !bare.starts_with('-'))
      return negative ? -whole : whole;
    double real = 0;
    if (const auto [stop, problem] = std::from_chars(digits.data(), end, real);
        problem == std::errc{} && stop == end)
      return real;
    at_ = start;
    fail("not a number");
    return nullptr;
  }

  std::string in_quotes() {
    std::string out;
    int braces = 0;  // inside "${…}" quotes and all else are text
    for (++at_; !at_end(); ++at_) {
      const char c = peek();
      if (c == '\n' && braces == 0) break;
      if (braces == 0 && c == '"') {
        ++at_;
        return out;
      }
      if (braces == 0 && c == '\\') {
        if (!escape(out)) return out;
        continue;
      }
      if (c == '{' && (braces > 0 || (!out.empty() && out.back() == '$'))) ++braces;
      if (c == '}' && braces > 0) --braces;
      out += c;
    }
    fail("a string does not end");
    return out;
  }

  /// The character after a backslash, which is at the front.
  bool escape(std::string& out) {
    ++at_;
    switch (peek()) {
      case 'n':
        out += '\n';
        return true;
      case 't':
        out += '\t';
        return true;
      case 'r':
        out += '\r';
        return true;
      case '"':
      case '\\':
        out += peek();
        return true;
      default:
        fail("an escape that means nothing");
        return false;
    }
  }

  /// "<<END" or "<<-END", which takes away the indentation of the closing line.
  std::string heredoc() {
    at_ += 2;
    const bool indented = peek() == '-';
    if (indented) ++at_;
    const auto end_mark = word();
    if (end_mark.empty() || (peek() != '\n' && peek() != '\r')) {
      fail("expected a line break after the mark of a heredoc");
      return {};
    }
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    std::vector<std::string_view> lines;
    while (!at_end()) {
      const auto stop = std::min(text_.find('\n', at_), text_.size());
      auto line = text_.substr(at_, stop - at_);
      at_ = std::min(stop + 1, text_.size());
      if (line.ends_with('\r')) line.remove_suffix(1);
      const auto indentation = std::min(line.find_first_not_of(" \t"), line.size());
      if (line.substr(indentation) != end_mark) {
        lines.push_back(line);
        continue;
      }
      std::string out;
      const auto all_have_it = std::ranges::all_of(lines, [&](std::string_view each) {
        return each.starts_with(line.substr(0, indentation));
      });
      for (const auto each : lines)
        out.append(each.substr(indented && all_have_it ? indentation : 0)).append("\n");
      return out;
    }
    fail("a heredoc does not end");
    return {};
  }

  std::string_view file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string path_;  ///< Of the item that is being read.
  KeyLines& lines_;
  std::size_t counted_ = 0;  ///< Up to here line breaks have been counted.
  std::uint32_t counted_lines_ = 1;
  std::optional<Error> error_;
};

}  // namespace

void merge_trees(boost::json::object& target, const boost::json::object& addition) {
  for (const auto& member : addition) {
    auto* present = target.if_contains(member.key());
    if (present != nullptr && present->is_object() && member.value().is_object())
      merge_trees(present->get_object(), member.value().get_object());
    else
      target[member.key()] = member.value();
  }
}

Result<boost::json::object> parse_hcl1(std::string_view file,
                                       std::string_view text,
                                       KeyLines& lines) {
  return Reader{file, text, lines}.run();
}

}  // namespace nomad::config
