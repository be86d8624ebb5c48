// JSON as Go's encoding/json reads and writes it: strings, numbers, and a reader that says what is
// wrong in Go's words. What values are made of is the reader's parameter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad {

/// Writes a string in quotes; `escapes_html` is for `<`, `>` and `&`.
void append_json_string(std::string& out, std::string_view text, bool escapes_html = true);
std::string json_quoted(std::string_view text);

/// Appends what the escape means whose letter, behind the backslash, is at `at`, and moves behind
/// it. False with `at` at the byte that is wrong; that is the letter, or a hexadecimal digit.
bool take_json_escape(std::string_view text, std::size_t& at, std::string& out);

/// Moves `at` behind a number that begins there, and answers "". Else where the byte at `at` is
/// wrong: "in numeric literal".
std::string_view skip_json_number(std::string_view text, std::size_t& at);

bool is_json_number(std::string_view text);

/// "invalid character 'x' after array element"
Error invalid_json_character(char c, std::string_view where);

/// Whose words a reader has. Both are Go's.
enum class JsonWords : std::uint8_t {
  whole,   ///< json.Unmarshal's.
  stream,  ///< json.Decoder's, which sees tokens.
};

/// Reads a text by a `Maker`, which has
///
///     using Value; using Array; using Object;
///     Result<void> begin(int depth), open(int depth);       // a value; an array or object
///     Result<Value> number(std::string_view), string(std::string), boolean(bool), null();
///     void add(Array&, Value), add(Object&, std::string key, Value);
///     Value finish(Array), finish(Object);
template <class Maker, JsonWords words>
class JsonReader {
public:
  using Value = typename Maker::Value;

  JsonReader(Maker& maker, std::string_view text) : maker_{maker}, text_{text} {}

  Result<Value> read() {
    Value out = NOMAD_TRY(value(0));
    skip_space();
    if (at_ >= text_.size()) return out;
    if (words == JsonWords::whole) return wrong("after top-level value");
    if (text_[at_] == ']' || text_[at_] == '}') return out;
    return Error{Errc::invalid_argument, "extraneous data after JSON object"};
  }

private:
  /// The character here is wrong, or there is none.
  Error wrong(std::string_view where) const {
    if (at_ < text_.size()) return invalid_json_character(text_[at_], where);
    return {Errc::invalid_argument,
            words == JsonWords::whole ? "unexpected end of JSON input" : "EOF"};
  }

  /// The same within a word, a number or an escape: `Unmarshal` reads on with a blank at the end.
  Error wrong_within(std::string_view where) const {
    if (at_ < text_.size() || words == JsonWords::whole)
      return invalid_json_character(at_ < text_.size() ? text_[at_] : ' ', where);
    return {Errc::invalid_argument, "unexpected EOF"};
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  Result<Value> value(int depth) {
    NOMAD_TRY(maker_.begin(depth));
    skip_space();
    if (at_ >= text_.size()) return wrong("");
    switch (text_[at_]) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return maker_.string(NOMAD_TRY(string()));
      case 't':
        return word("true", maker_.boolean(true));
      case 'f':
        return word("false", maker_.boolean(false));
      case 'n':
        return word("null", maker_.null());
      default:
        break;
    }
    const std::size_t start = at_;
    if (text_[at_] != '-' && (text_[at_] < '0' || text_[at_] > '9'))
      return wrong("looking for beginning of value");
    if (const std::string_view where = skip_json_number(text_, at_); !where.empty())
      return wrong_within(where);
    return maker_.number(text_.substr(start, at_ - start));
  }

  Result<Value> word(std::string_view name, Result<Value> value) {
    for (std::size_t i = 0; i < name.size(); ++i, ++at_)
      if (!next_is(name[i]))
        return wrong_within("in literal " + std::string{name} + " (expecting '" + name[i] + "')");
    return value;
  }

  Result<Value> array(int depth) {
    NOMAD_TRY(maker_.open(depth));
    typename Maker::Array items;
    ++at_;
    skip_space();
    if (next_is(']')) {
      ++at_;
      return maker_.finish(std::move(items));
    }
    for (;;) {
      maker_.add(items, NOMAD_TRY(value(depth + 1)));
      skip_space();
      if (!next_is(',') && !next_is(']')) return wrong("after array element");
      if (text_[at_++] == ']') return maker_.finish(std::move(items));
    }
  }

  Result<Value> object(int depth) {
    NOMAD_TRY(maker_.open(depth));
    typename Maker::Object members;
    ++at_;
    skip_space();
    if (next_is('}')) {
      ++at_;
      return maker_.finish(std::move(members));
    }
    for (bool first = true;; first = false) {
      skip_space();
      if (!next_is('"'))
        return wrong(first && words == JsonWords::stream
                         ? ""
                         : "looking for beginning of object key string");
      std::string key = NOMAD_TRY(string());
      skip_space();
      if (!next_is(':')) return wrong("after object key");
      ++at_;
      maker_.add(members, std::move(key), NOMAD_TRY(value(depth + 1)));
      skip_space();
      if (!next_is(',') && !next_is('}')) return wrong("after object key:value pair");
      if (text_[at_++] == '}') return maker_.finish(std::move(members));
    }
  }

  Result<std::string> string() {
    std::string out;
    for (++at_; !next_is('"');) {
      if (at_ >= text_.size()) return words == JsonWords::whole ? wrong("") : wrong_within("");
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return wrong("in string literal");
      if (text_[at_] != '\\') {
        take_character(out);
        continue;
      }
      const std::size_t letter = ++at_;
      if (!take_json_escape(text_, at_, out))
        return wrong_within(at_ == letter ? "in string escape code"
                                          : "in \\u hexadecimal character escape");
    }
    ++at_;
    return out;
  }

  void take_character(std::string& out) {
    const CodePoint point = decode_utf8(text_, at_);
    append_utf8(out, point.value);
    at_ += point.length;
  }

  Maker& maker_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace nomad
