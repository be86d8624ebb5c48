// JsonObject: writes one JSON object member by member into a text. For answers that no schema
// describes; names are written as given, in the order of the calls.
#pragma once

#include <cassert>
#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::api {

class JsonObject {
public:
  /// Opens an object at the end of `out`, which outlives this; the destructor closes it.
  explicit JsonObject(std::string& out) : out_{out} { out_ += '{'; }

  JsonObject(const JsonObject&) = delete;

  /// Opens an object of its own, which `take` closes and gives.
  JsonObject() : JsonObject{own_} {}

  /// Without memory for it, this throws, and the request ends in an error; while what ran out of it
  /// already unwinds the stack, nobody reads the text any more.
  ~JsonObject() noexcept(false) {
    if (std::uncaught_exceptions() == unwinding_) out_ += '}';
  }

  /// Only of an object of its own.
  std::string take() {
    assert(&out_ == &own_);
    own_ += '}';
    return std::move(own_);
  }

  /// Begins a member whose value the caller appends to the returned text.
  std::string& raw(std::string_view name) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    out_ += '"';
    out_.append(name).append("\":");
    return out_;
  }

  /// As `raw` for names that come from outside and may need escaping.
  std::string& member(std::string_view name) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    append_json_text(out_, name);
    out_ += ':';
    return out_;
  }

  JsonObject& text(std::string_view name, std::string_view value) {
    append_json_text(raw(name), value);
    return *this;
  }

  JsonObject& text(std::string_view name, capnp::Text::Reader value) {
    return text(name, view(value));
  }

  JsonObject& text(std::string_view name, const char* value) {
    return text(name, std::string_view{value});
  }

  JsonObject& text(std::string_view name, const std::string& value) {
    return text(name, std::string_view{value});
  }

  template <std::integral Number>
  JsonObject& number(std::string_view name, Number value) {
    const fmt::format_int digits{value};
    raw(name).append(digits.data(), digits.size());
    return *this;
  }

  JsonObject& real(std::string_view name, double value) {
    append_json_real(raw(name), value);
    return *this;
  }

  JsonObject& boolean(std::string_view name, bool value) {
    raw(name) += value ? "true" : "false";
    return *this;
  }

  JsonObject& null(std::string_view name) {
    raw(name) += "null";
    return *this;
  }

  /// A schema object by the generic codec.
  template <class Reader>
  JsonObject& object(std::string_view name, const Reader& value) {
    append_json(raw(name), value);
    return *this;
  }

  /// Members of a schema object beside those written by hand.
  template <class Reader>
  JsonObject& members(const Reader& value) {
    const auto before = out_.size();
    if (!is_first_) out_ += ',';
    const auto begin = out_.size();
    append_json_members(out_, value);
    if (out_.size() == begin)
      out_.resize(before);
    else
      is_first_ = false;
    return *this;
  }

private:
  std::string own_;
  std::string& out_;
  const int unwinding_ = std::uncaught_exceptions();
  bool is_first_ = true;
};

/// An instant as RFC 3339; null for 0.
inline void append_time(JsonObject& object, std::string_view name, std::int64_t unix_nanoseconds) {
  if (unix_nanoseconds == 0) {
    object.null(name);
    return;
  }
  auto& out = object.raw(name);
  out += '"';
  out += format_rfc3339(unix_nanoseconds);
  out += '"';
}

/// Appends `[a,b]` of what `append_one(out, item)` writes for each item of a range.
template <class Range, class AppendOne>
void append_json_list(std::string& out, const Range& range, AppendOne append_one) {
  out += '[';
  bool is_first = true;
  for (const auto& item : range) {
    if (!is_first) out += ',';
    is_first = false;
    append_one(out, item);
  }
  out += ']';
}

template <class Range, class AppendOne>
std::string json_list(const Range& range, AppendOne append_one) {
  std::string out;
  append_json_list(out, range, append_one);
  return out;
}

/// Appends a map-shaped list of the schema as an object; `append_value(out, value)` for each entry.
template <class Entries, class AppendValue>
void append_json_map(std::string& out, const Entries& entries, AppendValue append_value) {
  out += '{';
  bool is_first = true;
  for (const auto entry : entries) {
    if (!is_first) out += ',';
    is_first = false;
    append_json_text(out, view(entry.getKey()));
    out += ':';
    append_value(out, entry.getValue());
  }
  out += '}';
}

inline void append_json_texts(std::string& out, const auto& texts) {
  append_json_list(out, texts, [](std::string& to, const auto& one) {
    append_json_text(to, std::string_view{one});
  });
}

}  // namespace nomad::api
