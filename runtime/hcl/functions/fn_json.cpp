// `jsonencode` and `jsondecode`.
#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/hcl/syntax/json_text.hpp"
#include "runtime/hcl/value/text.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

/// Nesting that `jsondecode` accepts; deeper values could not be used anyway.

class JsonEncoder {
public:
  bool encode(const Value& value) {
    if (value.is_null()) {
      out += "null";
    } else if (value.is_unknown()) {
      return fail("value is not known");
    } else if (value.is_string()) {
      out += json_quoted(value.as_string());
    } else if (value.is_bool()) {
      out += value.as_bool() ? "true" : "false";
    } else if (value.is_number()) {
      if (value.as_number().is_infinite()) return fail("cannot serialize infinity as JSON");
      out += value.as_number().to_string();
    } else {
      return value.is_sequence() ? sequence(value) : mapping(value);
    }
    return out.size() <= max_result_bytes || fail("the result is larger than is allowed");
  }

  std::string out;
  std::string error;

private:
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }

  bool sequence(const Value& value) {
    out += '[';
    for (const Value& element : value.elements()) {
      if (&element != &value.elements().front()) out += ',';
      if (!encode(element)) return false;
    }
    out += ']';
    return true;
  }

  bool mapping(const Value& value) {
    out += '{';
    for (const auto& entry : value.entries()) {
      if (&entry != &value.entries().front()) out += ',';
      out += json_quoted(entry.first);
      out += ':';
      if (!encode(entry.second)) return false;
    }
    out += '}';
    return true;
  }
};

/// A strict JSON reader that says what is wrong as Go's decoder does.
class JsonDecoder {
public:
  explicit JsonDecoder(std::string_view text) : text_{text} {}

  std::optional<Value> run() {
    auto out = value(" looking for beginning of value");
    if (!out) return std::nullopt;
    skip_space();
    if (at_ < text_.size() && text_[at_] != ']' && text_[at_] != '}')
      return fail("extraneous data after JSON object");
    return out;
  }

  const std::string& error() const { return error_; }

private:
  std::nullopt_t fail(std::string message) {
    error_ = std::move(message);
    return std::nullopt;
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  std::nullopt_t unexpected(std::string_view context) {
    if (at_ >= text_.size()) return fail("EOF");
    const char c = text_[at_];
    std::string shown;
    if (c == '\'')
      shown = "'\\''";
    else if (c == '"')
      shown = "'\"'";
    else {
      std::string letter;  // a byte is shown as the character of that number
      append_utf8(letter, static_cast<unsigned char>(c));
      shown = quote(letter);
      shown.front() = shown.back() = '\'';
    }
    return fail("invalid character " + shown + std::string{context});
  }

  std::optional<Value> value(std::string_view context) {
    skip_space();
    if (at_ >= text_.size()) return fail("EOF");
    switch (text_[at_]) {
      case '{':
        return nested(true);
      case '[':
        return nested(false);
      case '"': {
        auto string = string_literal();
        return string ? std::optional{Value::string(*string)} : std::nullopt;
      }
      case 't':
        return literal("true", Value::boolean(true));
      case 'f':
        return literal("false", Value::boolean(false));
      case 'n':
        return literal("null", Value::null());
      default:
        return number(context);
    }
  }

  std::optional<Value> nested(bool object_value) {
    if (++depth_ > max_nesting)
      return fail("JSON values may be nested at most " + std::to_string(max_nesting)
                  + " levels deep");
    auto out = object_value ? object() : array();
    --depth_;
    return out;
  }

  std::optional<Value> literal(std::string_view word, Value value) {
    for (std::size_t i = 0; i < word.size(); ++i, ++at_) {
      if (at_ >= text_.size()) return fail("unexpected EOF");
      if (text_[at_] != word[i])
        return unexpected(" in literal " + std::string{word} + " (expecting '" + word[i] + "')");
    }
    return value;
  }

  std::optional<Value> number(std::string_view context) {
    const char c = text_[at_];
    if (c != '-' && (c < '0' || c > '9')) return unexpected(context);
    const std::size_t begin = at_;
    const auto digits = [this] {
      const std::size_t first = at_;
      while (at_ < text_.size() && is_digit(text_[at_]))
        ++at_;
      return at_ > first;
    };
    const auto bad = [this](std::string_view where) -> std::optional<Value> {
      return at_ >= text_.size() ? fail("unexpected EOF") : unexpected(where);
    };
    if (c == '-') ++at_;
    if (at_ < text_.size() && text_[at_] == '0')
      ++at_;
    else if (!digits())
      return bad(" in numeric literal");
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!digits()) return bad(" after decimal point in numeric literal");
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return bad(" in exponent of numeric literal");
    }
    auto parsed = Number::parse(text_.substr(begin, at_ - begin));
    return parsed ? std::optional{Value::number(std::move(*parsed))} : fail("a number is required");
  }

  std::optional<std::string> string_literal() {
    const std::size_t begin = at_;
    std::size_t end = begin + 1;
    while (end < text_.size() && text_[end] != '"')
      end += text_[end] == '\\' ? 2 : 1;
    end = std::min(end, text_.size());
    const std::string_view raw
        = text_.substr(begin, end < text_.size() ? end - begin + 1 : end - begin);
    std::string out;
    if (const auto wrong = unescape_json(raw, out)) {
      if (*wrong >= raw.size() && !(raw.size() > 1 && raw.ends_with('"')))
        return fail("unexpected EOF");
      at_ = begin + *wrong - 1;
      const bool control = static_cast<unsigned char>(text_[at_]) < 0x20;
      const std::size_t slash = text_.rfind('\\', at_);
      if (control && slash + 1 != at_) return unexpected(" in string literal");
      return unexpected(slash != std::string_view::npos && slash + 1 < at_
                                && text_[slash + 1] == 'u'
                            ? " in \\u hexadecimal character escape"
                            : " in string escape code");
    }
    at_ = end + 1;
    return out;
  }

  std::optional<Value> array() {
    ++at_;
    Value::Elements elements;
    skip_space();
    if (at_ < text_.size() && text_[at_] == ']') {
      ++at_;
      return Value::tuple({});
    }
    for (;;) {
      auto element = value(" looking for beginning of value");
      if (!element) return std::nullopt;
      elements.push_back(std::move(*element));
      skip_space();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (at_ >= text_.size() || text_[at_] != ']') return unexpected(" after array element");
      ++at_;
      return Value::tuple(std::move(elements));
    }
  }

  std::optional<Value> object() {
    ++at_;
    Value::Entries entries;
    skip_space();
    if (at_ < text_.size() && text_[at_] == '}') {
      ++at_;
      return Value::object({});
    }
    for (;;) {
      skip_space();
      if (at_ >= text_.size() || text_[at_] != '"')
        return unexpected(entries.empty() ? "" : " looking for beginning of object key string");
      auto key = string_literal();
      if (!key) return std::nullopt;
      skip_space();
      if (at_ >= text_.size() || text_[at_] != ':') return unexpected(" after object key");
      ++at_;
      auto content = value(" looking for beginning of value");
      if (!content) return std::nullopt;
      entries.emplace_back(std::move(*key), std::move(*content));
      skip_space();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (at_ >= text_.size() || text_[at_] != '}')
        return unexpected(" after object key:value pair");
      ++at_;
      return Value::object(std::move(entries));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
};

FunctionResult json_encode(Args args) {
  if (!args[0].is_wholly_known()) return Value::unknown(Type::string());
  auto out = encode_json(args[0]);
  if (auto* wrong = std::get_if<FunctionError>(&out)) return std::move(*wrong);
  return text(std::get<std::string>(out));
}

FunctionResult json_decode(Args args) {
  JsonDecoder decoder{args[0].as_string()};
  auto out = decoder.run();
  return out ? FunctionResult{std::move(*out)} : fail(decoder.error());
}

}  // namespace

std::variant<std::string, FunctionError> encode_json(const Value& value) {
  JsonEncoder encoder;
  if (!encoder.encode(value)) return FunctionError{std::move(encoder.error)};
  return std::move(encoder.out);
}

void add_json_functions(std::vector<Function>& out) {
  out.push_back({"jsonencode", {{"val", Type::dynamic(), true}}, std::nullopt, json_encode});
  out.push_back({"jsondecode", {{"str", Type::string()}}, std::nullopt, json_decode});
}

}  // namespace nomad::hcl
