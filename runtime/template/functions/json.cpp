#include "runtime/template/functions/json.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/template/value/number_text.hpp"

namespace nomad::templates {
namespace {

/// Go's reader: says at which byte a text is no JSON in the words of its state machine.
class JsonReader {
public:
  JsonReader(Context& context, std::string_view text) : context_{context}, text_{text} {}

  Result<Value> read() {
    Value out = NOMAD_TRY(value("looking for beginning of value", 0));
    skip_space();
    if (at_ < text_.size()) return bad("after top-level value");
    return out;
  }

private:
  Error ended() const { return function_error("unexpected end of JSON input"); }

  /// The character at `at_` is wrong there. White space may follow at the end of the text.
  Error bad(std::string_view where) const {
    return at_ >= text_.size() ? ended() : bad_within(where);
  }

  /// The same where no white space may be: Go reads on with a blank at the end of the text.
  Error bad_within(std::string_view where) const {
    const char c = at_ < text_.size() ? text_[at_] : ' ';
    std::string shown;
    if (c == '\'') {
      shown = "'\\''";
    } else if (c == '"') {
      shown = "'\"'";
    } else {
      std::string character;
      append_utf8(character, static_cast<unsigned char>(c));
      shown = quote(character);
      shown.front() = shown.back() = '\'';
    }
    return function_error("invalid character " + shown + ' ' + std::string{where});
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  Result<Value> value(std::string_view where, int depth) {
    if (depth > max_depth) return function_error("exceeded max depth");
    NOMAD_TRY(context_.step());
    skip_space();
    if (at_ >= text_.size()) return ended();
    switch (text_[at_]) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return Value::text(NOMAD_TRY(string()));
      case 't':
        return word("true", Value::boolean(true));
      case 'f':
        return word("false", Value::boolean(false));
      case 'n':
        return word("null", {});
      default:
        break;
    }
    if (text_[at_] == '-' || is_digit(text_[at_])) return number();
    return bad(where);
  }

  Result<Value> word(std::string_view name, Value value) {
    for (std::size_t i = 0; i < name.size(); ++i, ++at_)
      if (!next_is(name[i]))
        return bad_within("in literal " + std::string{name} + " (expecting '" + name[i] + "')");
    return value;
  }

  bool skip_digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_]))
      ++at_;
    return at_ > start;
  }

  Result<Value> number() {
    const std::size_t start = at_;
    if (next_is('-')) ++at_;
    if (next_is('0'))
      ++at_;
    else if (!skip_digits())
      return bad_within("in numeric literal");
    if (next_is('.')) {
      ++at_;
      if (!skip_digits()) return bad_within("after decimal point in numeric literal");
    }
    if (next_is('e') || next_is('E')) {
      ++at_;
      if (next_is('+') || next_is('-')) ++at_;
      if (!skip_digits()) return bad_within("in exponent of numeric literal");
    }
    const std::string_view digits = text_.substr(start, at_ - start);
    const auto found = parse_number(digits);
    if (found.fault)
      return function_error("json: cannot unmarshal number " + std::string{digits}
                            + " into Go value of type float64");
    return Value::number(found.value);
  }

  Result<Value> array(int depth) {
    ++at_;
    std::vector<Value> items;
    skip_space();
    if (next_is(']')) {
      ++at_;
      return Value::list({});
    }
    for (;;) {
      items.push_back(NOMAD_TRY(value("looking for beginning of value", depth + 1)));
      skip_space();
      if (!next_is(',') && !next_is(']')) return bad("after array element");
      if (text_[at_++] == ']') return Value::list(std::move(items));
    }
  }

  Result<Value> object(int depth) {
    ++at_;
    auto map = std::make_shared<Map>();
    skip_space();
    if (next_is('}')) {
      ++at_;
      return Value::map(std::move(map));
    }
    for (std::string_view where = "looking for beginning of object key string";;) {
      skip_space();
      if (!next_is('"')) return bad(where);
      const std::string key = NOMAD_TRY(string());
      skip_space();
      if (!next_is(':')) return bad("after object key");
      ++at_;
      map->set(key, NOMAD_TRY(value("looking for beginning of value", depth + 1)));
      skip_space();
      if (!next_is(',') && !next_is('}')) return bad("after object key:value pair");
      if (text_[at_++] == '}') return Value::map(std::move(map));
    }
  }

  Result<std::uint32_t> hex_digits() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ >= text_.size() || !is_hex_digit(text_[at_]))
        return bad_within("in \\u hexadecimal character escape");
      value = value * 16 + static_cast<std::uint32_t>(hex_value(text_[at_]));
    }
    return value;
  }

  Result<void> escape(std::string& out) {
    ++at_;
    if (at_ >= text_.size()) return bad_within("in string escape code");
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view values = "\"\\/\b\f\n\r\t";
    const char name = text_[at_];
    if (const std::size_t place = names.find(name); place != std::string_view::npos) {
      out += values[place];
      ++at_;
      return {};
    }
    if (name != 'u') return bad_within("in string escape code");
    ++at_;
    std::uint32_t c = NOMAD_TRY(hex_digits());
    if (c >= 0xD800 && c < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      const std::size_t before = at_;
      at_ += 2;
      const std::uint32_t low = NOMAD_TRY(hex_digits());
      if (low >= 0xDC00 && low < 0xE000)
        c = 0x10000 + ((c - 0xD800) << 10U) + (low - 0xDC00);
      else
        at_ = before;
    }
    append_utf8(out, c >= 0xD800 && c < 0xE000 ? U'\uFFFD' : static_cast<char32_t>(c));
    return {};
  }

  Result<std::string> string() {
    ++at_;
    std::string out;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        NOMAD_TRY(context_.make(out.size()));
        return out;
      }
      if (c == '\\') {
        NOMAD_TRY(escape(out));
      } else if (static_cast<unsigned char>(c) < 0x20) {
        return bad("in string literal");
      } else {
        const CodePoint point = decode_utf8(text_, at_);
        append_utf8(out, point.value);
        at_ += point.length;
      }
    }
    return ended();
  }

  Context& context_;
  std::string_view text_;
  std::size_t at_ = 0;
};

class JsonWriter {
public:
  JsonWriter(const JsonStyle& style, std::size_t limit) : style_{style}, limit_{limit} {}

  Result<std::string> write(const Value& value) {
    NOMAD_TRY(this->value(value, 0));
    return std::move(out_);
  }

private:
  Result<void> value(const Value& value, int depth) {
    if (depth > max_depth || out_.size() > limit_)
      return Error{Errc::too_large, "json: the text is too long, or nested too deep"};
    if (value.is_nil()) {
      out_ += "null";
      return {};
    }
    switch (value.kind()) {
      case Kind::any:
        break;
      case Kind::boolean:
        out_ += value.as_boolean() ? "true" : "false";
        break;
      case Kind::integer:
        out_ += std::to_string(value.as_integer());
        break;
      case Kind::natural:
        out_ += std::to_string(value.as_natural());
        break;
      case Kind::number:
        return number(value.as_number());
      case Kind::text:
        string(value.as_text());
        break;
      case Kind::list:
        if (value.type() == &types::int64_channel) return unsupported(value);
        return list(value, depth);
      case Kind::map:
        return map(value, depth);
      case Kind::structure:
        return structure(value, depth);
      case Kind::function:
        return unsupported(value);
    }
    return {};
  }

  static Error unsupported(const Value& value) {
    return function_error("json: unsupported type: " + std::string{type_name(value)});
  }

  Result<void> number(double value) {
    if (!std::isfinite(value))
      return function_error("json: unsupported value: " + format_number(value));
    const double size = std::fabs(value);
    const bool small_or_large = size != 0 && (size < 1e-6 || size >= 1e21);
    std::string text = format_number(value, small_or_large ? 'e' : 'f');
    // "e-09" is "e-9".
    if (const std::size_t n = text.size();
        small_or_large && n >= 4 && text[n - 4] == 'e' && text[n - 3] == '-' && text[n - 2] == '0')
      text.erase(n - 2, 1);
    out_ += text;
    return {};
  }

  void string(std::string_view text) {
    out_ += '"';
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint point = decode_utf8(text, at);
      character(point, text.substr(at, point.length));
      at += point.length;
    }
    out_ += '"';
  }

  void character(CodePoint point, std::string_view bytes) {
    const char32_t c = point.value;
    const bool is_html = c == '<' || c == '>' || c == '&';
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += static_cast<char>(c);
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (c == '\r') {
      out_ += "\\r";
    } else if (c == '\t') {
      out_ += "\\t";
    } else if (c < 0x20 || c == 0x2028 || c == 0x2029 || point.is_broken()
               || (is_html && style_.escapes_html)) {
      out_ += "\\u";
      append_hex(out_, c, 4);
    } else {
      out_ += bytes;
    }
  }

  void line(int depth) {
    if (!style_.is_pretty) return;
    out_ += '\n';
    out_.append(2 * static_cast<std::size_t>(depth), ' ');
  }

  Result<void> list(const Value& list, int depth) {
    if (list.type()->element == &types::byte) {
      std::string bytes;
      for (const Value& byte : list.items())
        bytes += static_cast<char>(byte.as_natural());
      string(encode_base64(bytes));
      return {};
    }
    out_ += '[';
    bool first = true;
    for (const Value& item : list.items()) {
      if (!std::exchange(first, false)) out_ += ',';
      line(depth + 1);
      NOMAD_TRY(value(item, depth + 1));
    }
    if (!first) line(depth);
    out_ += ']';
    return {};
  }

  Result<void> member(bool& first, std::string_view name, const Value& content, int depth) {
    if (!std::exchange(first, false)) out_ += ',';
    line(depth + 1);
    string(name);
    out_ += style_.is_pretty ? ": " : ":";
    return value(content, depth + 1);
  }

  /// Whether all keys are in the order that was given.
  static bool has_order(const Map& map) {
    return map.json_order.size() == map.entries.size()
           && std::ranges::all_of(map.json_order, [&map](const std::string& key) {
                return map.entries.contains(std::string_view{key});
              });
  }

  Result<void> map(const Value& map, int depth) {
    if (map.type()->key->kind == Kind::any) return unsupported(map);
    out_ += '{';
    bool first = true;
    if (has_order(*map.shared_map())) {
      for (const std::string& key : map.shared_map()->json_order)
        NOMAD_TRY(member(first, key, *map.shared_map()->find(key), depth));
    } else {
      for (const auto& [key, held] : map.entries())
        NOMAD_TRY(member(first, key.kind() == Kind::text ? std::string{key.as_text()} : shown(key),
                         held, depth));
    }
    if (!first) line(depth);
    out_ += '}';
    return {};
  }

  Result<void> structure(const Value& value, int depth) {
    if (value.type()->json != nullptr) {
      out_ += value.type()->json(value);
      return {};
    }
    out_ += '{';
    bool first = true;
    for (std::size_t i = 0; i < value.type()->fields.size(); ++i)
      NOMAD_TRY(member(first, value.type()->fields[i].name, value.fields()[i], depth));
    if (!first) line(depth);
    out_ += '}';
    return {};
  }

  const JsonStyle style_;
  std::size_t limit_;
  std::string out_;
};

}  // namespace

Result<Value> read_json(Context& context, std::string_view text) {
  return JsonReader{context, text}.read();
}

Result<std::string> write_json(const Value& value, const JsonStyle& style, std::size_t limit) {
  return JsonWriter{style, limit}.write(value);
}

}  // namespace nomad::templates
