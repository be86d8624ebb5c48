// The terminals of the filter grammar, and the memory of what could have stood where parsing
// failed.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::query {

/// Reads words and characters at places (byte offsets) of one text, which must outlive it. Each
/// reading function returns the position behind what it found, or `no_match`. Not thread-safe.
class FilterScanner {
public:
  static constexpr std::size_t no_match = std::string_view::npos;
  using Predicate = bool (*)(char);

  explicit FilterScanner(std::string_view text) : text_{text} {}

  std::string_view text() const { return text_; }

  std::string slice(std::size_t from, std::size_t to) const;

  std::size_t literal(std::size_t at, std::string_view word);

  /// `name` is how a message calls the characters: "[0-9]".
  std::size_t one_of(std::size_t at, Predicate predicate, std::string_view name);
  std::size_t many_of(std::size_t at, Predicate predicate, std::string_view name);

  std::size_t end(std::size_t at);
  std::size_t space(std::size_t at);  ///< At least one white space.
  std::size_t maybe_space(std::size_t at);
  std::size_t identifier(std::size_t at);

  /// Words with white space around and between them: `_ "is" _ "not" …`.
  std::size_t words(std::size_t at,
                    std::initializer_list<std::string_view> words,
                    bool space_behind);

  /// Notes that `wanted` was (not) found at `at`; only the farthest place is kept.
  void note(bool found, std::size_t at, std::string_view wanted);

  /// "1:5 (4): no match found, expected: …" of the farthest place.
  std::string expectations() const;

  /// A mistake that no other reading of the text can mend.
  void fail(std::size_t at, std::string_view rule, std::string_view problem);

  const std::vector<std::string>& errors() const { return errors_; }

private:
  std::size_t any_char(std::size_t at);
  std::string position(std::size_t at) const;

  std::string_view text_;
  std::size_t farthest_ = 0;
  std::set<std::string> wanted_;
  std::vector<std::string> errors_;
  bool inverted_ = false;  ///< In a negative look-ahead, where finding is failing.
};

/// Characters of a JSON pointer's segment: letters and digits of any alphabet, and some signs.
bool is_pointer_char(char c);

}  // namespace nomad::query
