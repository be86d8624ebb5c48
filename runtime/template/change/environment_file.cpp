#include "runtime/template/change/environment_file.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad::templates {
namespace {

Error mistake(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

Result<std::string> read_key(std::string_view key) {
  if (key.size() > 7 && key.starts_with("export ")) key.remove_prefix(7);
  if (key.empty()) return mistake("empty key");
  if (!is_letter(key[0]) && key[0] != '_')
    return mistake("key must start with [A-Za-z_] but found "
                   + quote_character(static_cast<unsigned char>(key[0])));
  for (const char c : key.substr(1))
    if (!is_alphanumeric(c) && c != '_' && c != '.')
      return mistake("key characters must be [A-Za-z0-9_.] but found "
                     + quote_character(static_cast<unsigned char>(c)));
  return std::string{key};
}

/// A value, from its first character to the end of the line.
class ValueReader {
public:
  explicit ValueReader(std::string_view text) : text_{text} {}

  Result<std::string> read() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) {
        std::string code;
        append_hex(code, static_cast<unsigned char>(c), 2);
        return mistake("0x" + code + " is an invalid value character");
      }
      if (mode_ == '\'' || mode_ == '"')
        NOMAD_TRY(within_quotes(c));
      else if (c == '#')
        return out_.substr(0, significant_);
      else
        outside(c);
    }
    if (mode_ == '"') return mistake("unmatched \"");
    if (mode_ == '\'') return mistake("unmatched '");
    return std::move(out_);
  }

private:
  void outside(char c) {
    if (c == '"' || c == '\'') {
      mode_ = c;
      return;
    }
    out_ += c;
    if (c != ' ') significant_ = out_.size();
  }

  Result<void> within_quotes(char c) {
    if (c == mode_)
      mode_ = '\0';
    else if (c == '\\' && mode_ == '"')
      return escape();
    else
      out_ += c;
    significant_ = out_.size();
    return {};
  }

  Result<std::uint32_t> hex_digits(std::size_t from) const {
    if (from + 4 > text_.size()) return mistake("incomplete hex sequence");
    std::uint32_t value = 0;
    for (const char c : text_.substr(from, 4)) {
      if (!is_hex_digit(c)) return mistake("invalid hex character: " + quote({&c, 1}));
      value = value * 16 + static_cast<std::uint32_t>(hex_value(c));
    }
    return value;
  }

  /// Behind a backslash; leaves `at_` on the last character of the escape.
  Result<void> escape() {
    ++at_;
    if (at_ >= text_.size()) return mistake("incomplete escape sequence");
    const char c = text_[at_];
    constexpr std::string_view names = "\"\\/bfrnt";
    constexpr std::string_view values = "\"\\/\b\f\r\n\t";
    if (static_cast<unsigned char>(c) > 127)
      return mistake("multibyte characters disallowed in escape sequences");
    if (const std::size_t position = names.find(c); position != std::string_view::npos) {
      out_ += values[position];
    } else if (c == 'u') {
      std::uint32_t point = NOMAD_TRY(hex_digits(at_ + 1));
      at_ += 4;
      if (point >= 0xD800 && point < 0xE000) {
        if (!text_.substr(at_ + 1).starts_with("\\u"))
          return mistake("incomplete Unicode surrogate pair");
        const std::uint32_t low = NOMAD_TRY(hex_digits(at_ + 3));
        at_ += 6;
        const bool is_pair = point < 0xDC00 && low >= 0xDC00 && low < 0xE000;
        point = is_pair ? 0x10000 + ((point - 0xD800) << 10U) + (low - 0xDC00) : 0xFFFD;
      }
      append_utf8(out_, point);
    } else {
      return mistake("invalid escape sequence: " + quote({&c, 1}));
    }
    significant_ = out_.size();
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::size_t significant_ = 0;  ///< Up to here it is no white space.
  char mode_ = '\0';             ///< The quote that is open.
};

}  // namespace

Result<std::map<std::string, std::string>> parse_environment_file(std::string_view text) {
  std::map<std::string, std::string> out;
  int number = 0;
  for (const std::string_view whole : split(text, '\n')) {
    const std::string where = "error on line " + std::to_string(++number);
    const std::string_view line = trim(whole);
    if (line.empty() || line[0] == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return mistake("missing =").within(where);
    std::string key = NOMAD_TRY(read_key(trim(line.substr(0, equals))).within(where));
    auto value = NOMAD_TRY(ValueReader{trim(line.substr(equals + 1))}.read().within(where));
    out.insert_or_assign(std::move(key), std::move(value));
  }
  return out;
}

}  // namespace nomad::templates
