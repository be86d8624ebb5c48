// Writes values one after another, as Go's package fmt does. Part of format.cpp; nobody else uses
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/template/value/value.hpp"

namespace nomad::templates {

/// What stands between the percent sign and the verb.
struct PrintFlags {
  bool plus = false;
  bool minus = false;
  bool sharp = false;
  bool space = false;
  bool zero = false;
  bool plus_v = false;
  bool sharp_v = false;
  std::optional<int> width{};
  std::optional<int> precision{};
};

/// Formats values one after another into a text of at most `limit` bytes.
class Printer {
public:
  explicit Printer(std::size_t limit) : limit_{limit} {}

  void write(std::string_view text) {
    if (overflowed_) return;
    if (text.size() > limit_ - out_.size()) {
      overflowed_ = true;
      text = text.substr(0, limit_ - out_.size());
    }
    out_ += text;
  }

  void write(char c) { write(std::string_view{&c, 1}); }

  void argument(const Value& value, char32_t verb);
  void format(std::string_view format, std::span<const Value> arguments);

  /// Shows what a pointer points to without its "&".
  void pointee(const Value& value) {
    bare_ = true;
    argument(value, 'v');
  }

  std::string take() { return std::move(out_); }

  Result<std::string> result() {
    if (overflowed_)
      return Error{Errc::too_large, "the text is too long, or a value is nested too deep"};
    return std::move(out_);
  }

private:
  void pad(std::string_view text);
  void pad_with_blanks(std::string_view text);
  void padding(std::size_t count);

  void verb(char32_t verb) {
    std::string text;
    append_utf8(text, verb);
    write(text);
  }

  void bad_verb(const Value& value, char32_t verb);
  void boolean(const Value& value, char32_t verb);
  void integer(const Value& value, char32_t verb);
  void digits(std::uint64_t value, unsigned base, bool is_signed, char32_t verb, bool upper);
  void unicode(std::uint64_t value);
  void character(std::uint64_t value, bool quoted);
  void number(const Value& value, char32_t verb);
  void number_as(double value, char format, int precision);
  void text(std::string_view content, const Value& value, char32_t verb);
  void hex_bytes(std::string_view bytes, bool upper);
  void quoted(std::string_view content);
  void content(const Value& value, char32_t verb, int depth);
  void list(const Value& value, char32_t verb, int depth);
  void map(const Value& value, char32_t verb, int depth);
  void structure(const Value& value, char32_t verb, int depth);
  void pointer(const Value& value, char32_t verb);
  bool shows_itself(const Value& value, char32_t verb);
  void missing_or_bad(char32_t verb, std::string_view what);
  void extra(std::span<const Value> arguments);

  std::size_t limit_;
  std::string out_;
  bool overflowed_ = false;
  bool bare_ = false;      ///< No "&" in front of what a pointer points to.
  bool erroring_ = false;  ///< Within bad_verb: String() is not called.
  PrintFlags flags_;
};

}  // namespace nomad::templates
