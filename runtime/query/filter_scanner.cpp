#include "runtime/query/filter_scanner.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"

namespace nomad::query {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_identifier_char(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '/';
}

}  // namespace

bool is_pointer_char(char c) {
  return is_letter(c) || is_digit(c) || (static_cast<unsigned char>(c) & 0x80) != 0 || c == '-'
         || c == '_' || c == '.' || c == '~' || c == ':' || c == '|';
}

void FilterScanner::note(bool found, std::size_t at, std::string_view wanted) {
  if (found != inverted_ || at < farthest_) return;
  if (at > farthest_) {
    farthest_ = at;
    wanted_.clear();
  }
  wanted_.insert((inverted_ ? "!" : "") + std::string{wanted});
}

/// "line:column (offset)": columns count characters from 1, a line's end begins the next line.
std::string FilterScanner::position(std::size_t at) const {
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

std::string FilterScanner::expectations() const {
  std::vector<std::string> all;
  bool has_end = false;
  for (const auto& wanted : wanted_) {
    if (wanted == "!.")
      has_end = true;
    else
      all.push_back(wanted);
  }
  if (has_end) all.emplace_back("EOF");
  std::string out = position(farthest_) + ": no match found, expected: ";
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 0) out += i + 1 == all.size() ? " or " : ", ";
    out += all[i];
  }
  return out;
}

void FilterScanner::fail(std::size_t at, std::string_view rule, std::string_view problem) {
  auto error = position(at) + ": rule \"" + std::string{rule} + "\": " + std::string{problem};
  if (std::find(errors_.begin(), errors_.end(), error) == errors_.end())
    errors_.push_back(std::move(error));
}

std::size_t FilterScanner::literal(std::size_t at, std::string_view word) {
  const bool found = text_.substr(at).starts_with(word);
  std::string shown = "\"";
  for (const char c : word)
    (shown += c == '"' ? "\\" : "") += c;
  note(found, at, shown + '"');
  return found ? at + word.size() : no_match;
}

std::size_t FilterScanner::one_of(std::size_t at, Predicate predicate, std::string_view name) {
  const bool found = at < text_.size() && predicate(text_[at]);
  note(found, at, name);
  return found ? at + 1 : no_match;
}

std::size_t FilterScanner::many_of(std::size_t at, Predicate predicate, std::string_view name) {
  for (auto next = at; next != no_match; next = one_of(at, predicate, name))
    at = next;
  return at;
}

std::size_t FilterScanner::any_char(std::size_t at) {
  note(at < text_.size(), at, ".");
  return at < text_.size() ? at + 1 : no_match;
}

std::size_t FilterScanner::end(std::size_t at) {
  inverted_ = !inverted_;
  const bool is_end = any_char(at) == no_match;
  inverted_ = !inverted_;
  return is_end ? at : no_match;
}

std::size_t FilterScanner::space(std::size_t at) {
  const auto first = one_of(at, is_space, R"([ \t\r\n])");
  return first == no_match ? no_match : many_of(first, is_space, R"([ \t\r\n])");
}

std::size_t FilterScanner::maybe_space(std::size_t at) {
  const auto behind = space(at);
  return behind == no_match ? at : behind;
}

std::size_t FilterScanner::words(std::size_t at,
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

std::size_t FilterScanner::identifier(std::size_t at) {
  const auto first = one_of(at, is_letter, "[a-zA-Z]");
  return first == no_match ? no_match : many_of(first, is_identifier_char, "[a-zA-Z0-9_/]");
}

std::string FilterScanner::slice(std::size_t from, std::size_t to) const {
  return std::string{text_.substr(from, to - from)};
}

}  // namespace nomad::query
