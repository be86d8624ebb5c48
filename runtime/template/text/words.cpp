#include "runtime/template/text/words.hpp"

#include <algorithm>
#include <vector>

#include <unicode/uchar.h>

#include "runtime/base/utf8.hpp"
#include "runtime/text/letters.hpp"

namespace nomad::templates {
namespace {

using Characters = std::u32string;
using CharactersView = std::u32string_view;

UChar32 icu(char32_t c) {
  return static_cast<UChar32>(c);
}

bool is_upper(char32_t c) {
  return u_charType(icu(c)) == U_UPPERCASE_LETTER;
}

bool is_lower(char32_t c) {
  return u_charType(icu(c)) == U_LOWERCASE_LETTER;
}

bool is_title(char32_t c) {
  return u_charType(icu(c)) == U_TITLECASE_LETTER;
}

bool is_number(char32_t c) {
  return (U_GET_GC_MASK(icu(c)) & U_GC_N_MASK) != 0;
}

bool is_punctuation(char32_t c) {
  return (U_GET_GC_MASK(icu(c)) & U_GC_P_MASK) != 0;
}

bool is_connector(char32_t c) {
  return c == '-' || c == '_' || is_unicode_space(c);
}

enum class WordType : std::uint8_t { none, number, upper, letters, connector, punctuation, other };

struct Word {
  WordType type = WordType::none;
  Characters text;
};

/// Takes the next word off the front: a run of characters of one kind; "URLPath" is "URL", "Path".
Word take_word(CharactersView& rest) {
  if (rest.empty()) return {};
  std::size_t size = 1;
  const auto run = [&](auto belongs) {
    while (size < rest.size() && belongs(rest[size]))
      ++size;
  };
  const char32_t first = rest[0];
  WordType type = WordType::other;
  if (is_connector(first)) {
    type = WordType::connector;
    run(is_connector);
  } else if (is_punctuation(first)) {
    type = WordType::punctuation;
    run(is_punctuation);
  } else if (is_upper(first)) {
    type = WordType::upper;
    if (size < rest.size() && is_upper(rest[size])) {
      run(is_upper);
      if (size < rest.size() && is_unicode_letter(rest[size])) --size;
    } else {
      run([](char32_t c) { return is_unicode_letter(c) && !is_upper(c); });
    }
  } else if (is_unicode_letter(first)) {
    type = WordType::letters;
    run([](char32_t c) { return is_unicode_letter(c) && !is_upper(c); });
  } else if (is_number(first)) {
    type = WordType::number;
    run(is_number);
  } else {
    run([](char32_t c) {
      return !is_connector(c) && !is_unicode_letter(c) && !is_number(c) && !is_punctuation(c);
    });
  }
  Word out{type, Characters{rest.substr(0, size)}};
  rest.remove_prefix(size);
  return out;
}

/// Joins words as xstrings.ToSnakeCase does: digits stay with what is before or behind them.
class WordJoiner {
public:
  WordJoiner(std::string_view text, char32_t connector)
      : connector_{connector}, whole_{code_points(text)} {}

  std::string join() {
    word_ = take_word(rest_);
    while (!rest_.empty()) {
      if (word_.type != WordType::connector) append(word_.type, word_.text);
      const Word last = word_;
      word_ = take_word(rest_);
      if (last.type == WordType::number) {
        take_letters_and_numbers(last);
      } else if (last.type == WordType::connector) {
        append(last.type, last.text);
      } else if (last.type != WordType::punctuation) {
        behind_letters();
      }
    }
    append(word_.type, word_.text);
    return to_utf8(out_);
  }

private:
  void append(WordType type, const Characters& text) {
    if (type != WordType::upper && type != WordType::connector) {
      out_ += text;
      return;
    }
    for (const char32_t c : text)
      out_ += is_connector(c) ? connector_ : is_upper(c) ? lower_letter(c) : c;
  }

  void connect() {
    if (word_.type != WordType::none && word_.type != WordType::connector
        && word_.type != WordType::punctuation)
      out_ += connector_;
  }

  void take_letters_and_numbers(const Word&) {
    while (word_.type == WordType::letters || word_.type == WordType::number) {
      append(word_.type, word_.text);
      word_ = take_word(rest_);
    }
    connect();
  }

  void behind_letters() {
    if (word_.type != WordType::number) {
      if (word_.type != WordType::connector && word_.type != WordType::punctuation)
        out_ += connector_;
      return;
    }
    if (rest_.empty()) return;
    const Word number = word_;
    word_ = take_word(rest_);
    if (word_.type != WordType::letters) {
      append(WordType::number, number.text);
      if (word_.type != WordType::connector && word_.type != WordType::punctuation)
        out_ += connector_;
      return;
    }
    out_ += connector_;
    append(WordType::number, number.text);
    while (word_.type == WordType::letters || word_.type == WordType::number) {
      append(word_.type, word_.text);
      word_ = take_word(rest_);
    }
    connect();
  }

  char32_t connector_;
  Characters whole_;
  CharactersView rest_ = whole_;
  Characters out_;
  Word word_;
};

}  // namespace

std::string separated_words(std::string_view text, char32_t connector) {
  return WordJoiner{text, connector}.join();
}

std::string camel_case(std::string_view text) {
  const Characters in = code_points(text);
  Characters out;
  std::size_t at = 0;
  while (at < in.size() && is_connector(in[at]))
    out += in[at++];
  if (at >= in.size()) return to_utf8(out);
  char32_t current = upper_letter(in[at++]);
  for (; at < in.size(); ++at) {
    const char32_t last = current;
    current = in[at];
    if (is_connector(current) && is_connector(last))
      out += last;
    else if (is_connector(last))
      current = upper_letter(current);
    else
      out += last;
  }
  out += current;
  return to_utf8(out);
}

std::string swap_case(std::string_view text) {
  Characters out = code_points(text);
  bool after_space = true;
  for (char32_t& c : out) {
    if (is_upper(c) || is_title(c)) {
      c = lower_letter(c);
      after_space = false;
    } else if (is_lower(c)) {
      c = after_space ? title_letter(c) : upper_letter(c);
      after_space = false;
    } else {
      after_space = is_unicode_space(c);
    }
  }
  return to_utf8(out);
}

std::string initials(std::string_view text) {
  std::string out;
  bool after_gap = true;
  for (const char byte : text) {  // goutils looks at bytes.
    const auto c = static_cast<unsigned char>(byte);
    if (is_unicode_space(c)) {
      after_gap = true;
    } else if (after_gap) {
      append_utf8(out, c);
      after_gap = false;
    }
  }
  return out;
}

std::string uncapitalized(std::string_view text) {
  Characters out = code_points(text);
  bool starts = true;
  for (char32_t& c : out) {
    if (is_unicode_space(c)) {
      starts = true;
    } else if (starts) {
      c = lower_letter(c);
      starts = false;
    }
  }
  return to_utf8(out);
}

std::string without_space(std::string_view text) {
  Characters out = code_points(text);
  std::erase_if(out, is_unicode_space);
  return to_utf8(out);
}

std::string wrapped(std::string_view text,
                    std::int64_t width,
                    std::string_view line_break,
                    bool parts_words) {
  if (line_break.empty()) line_break = "\n";
  const auto columns = static_cast<std::size_t>(std::max<std::int64_t>(width, 1));
  std::string out;
  std::size_t at = 0;
  while (text.size() - at > columns) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    std::size_t length = text.substr(at, columns + 1).rfind(' ');
    std::size_t skipped = 1;
    if (length == std::string_view::npos && parts_words) {
      length = columns;
      skipped = 0;
    } else if (length == std::string_view::npos) {
      const std::size_t space = text.find(' ', at + columns);
      if (space == std::string_view::npos) break;
      length = space - at;
    }
    out += text.substr(at, length);
    out += line_break;
    at += length + skipped;
  }
  out += text.substr(at);
  return out;
}

std::string abbreviated(std::string_view text, std::int64_t width) {
  if (width < 4 || text.size() <= static_cast<std::size_t>(width)) return std::string{text};
  return std::string{text.substr(0, static_cast<std::size_t>(width) - 3)} + "...";
}

std::string abbreviated_both(std::string_view text, std::int64_t offset, std::int64_t width) {
  if (width < 4 || (offset > 0 && width < 7)) return std::string{text};
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t kept = width - 3;
  if (size <= width) return std::string{text};
  offset = std::min(offset, size);
  if (size - offset < kept) offset = size - kept;
  if (offset <= 4) return abbreviated(text, width);
  if (width < 7) return "";
  if (size - offset <= kept)
    return "..." + std::string{text.substr(static_cast<std::size_t>(size - kept))};
  return "..." + abbreviated(text.substr(static_cast<std::size_t>(offset)), kept);
}

}  // namespace nomad::templates
