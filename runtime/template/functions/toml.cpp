#include "runtime/template/functions/toml.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/template/eval/context.hpp"
#include "runtime/template/functions/time_value.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::templates {
namespace {

bool is_table(const Value& value) {
  return value.kind() == Kind::map || (value.kind() == Kind::structure && !is_time(value));
}

bool is_bare(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '-';
  });
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view escaped = "\t\b\n\f\r\"\\";
    constexpr std::string_view names = "tbnfr\"\\";
    if (const std::size_t at = escaped.find(c); at != std::string_view::npos) {
      out += '\\';
      out += names[at];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '\x7F') {
      out += "\\u00";
      append_hex(out, static_cast<unsigned char>(c), 2);
    } else {
      out += c;
    }
  }
  return out + '"';
}

class TomlWriter {
public:
  explicit TomlWriter(std::size_t limit) : limit_{limit} {}

  Result<std::string> write(const Value& value) {
    NOMAD_TRY(encode(value));
    return std::move(out_);
  }

private:
  using Key = std::vector<std::string>;

  Result<void> room(int depth) const {
    if (depth <= max_depth && out_.size() <= limit_) return {};
    return Error{Errc::too_large, "toml: the text is too long, or nested too deep"};
  }

  std::string indent() const { return std::string(2 * (key_.empty() ? 0 : key_.size() - 1), ' '); }

  static std::string shown_part(const std::string& part) {
    if (part.empty()) return "\"\"";
    return is_bare(part) ? part : in_quotes(part);
  }

  std::string shown_key() const {
    std::string out;
    for (const auto& part : key_)
      out += (out.empty() ? "" : ".") + shown_part(part);
    return out;
  }

  void new_line() {
    if (!out_.empty()) out_ += '\n';
  }

  /// Whether all items are tables. A list may not hold nil.
  static Result<bool> is_table_list(const Value& list) {
    if (list.kind() != Kind::list || list.items().empty()) return false;
    for (const Value& item : list.items())
      if (item.is_nil()) return function_error("toml: cannot encode array with nil element");
    return std::ranges::all_of(list.items(), is_table);
  }

  Result<void> encode(const Value& value) {
    NOMAD_TRY(room(static_cast<int>(key_.size())));
    if (value.is_nil()) return {};
    if (is_table(value)) return table(value);
    if (value.kind() == Kind::list && NOMAD_TRY(is_table_list(value))) return table_list(value);
    if (value.kind() == Kind::function)
      return function_error("unsupported type for key '" + shown_key() + "': func");
    if (key_.empty()) return element(value, 0);
    out_ += indent() + shown_part(key_.back()) + " = ";
    NOMAD_TRY(element(value, 0));
    new_line();
    return {};
  }

  Result<void> table_list(const Value& list) {
    if (key_.empty()) return function_error("toml: top-level values must be Go maps or structs");
    for (const Value& item : list.items()) {
      new_line();
      out_ += indent() + "[[" + shown_key() + "]]";
      new_line();
      NOMAD_TRY(members(item));
    }
    return {};
  }

  Result<void> table(const Value& value) {
    if (key_.size() == 1) new_line();
    if (!key_.empty()) {
      out_ += indent() + '[' + shown_key() + ']';
      new_line();
    }
    return members(value);
  }

  using Members = std::vector<std::pair<std::string, Value>>;

  /// In TOML's order: values before tables.
  static Result<Members> ordered(const Value& value) {
    Members direct;
    Members tables;
    const auto add = [&](std::string name, const Value& held) -> Result<void> {
      if (held.is_nil()) return {};
      const bool is_sub = is_table(held) || NOMAD_TRY(is_table_list(held));
      (is_sub ? tables : direct).emplace_back(std::move(name), held);
      return {};
    };
    if (value.kind() == Kind::map) {
      if (value.type()->key->kind != Kind::text)
        return function_error("toml: cannot encode a map with non-string key type");
      for (const auto& [key, held] : value.entries())
        NOMAD_TRY(add(std::string{key.as_text()}, held));
    } else {
      for (std::size_t i = 0; i < value.type()->fields.size(); ++i)
        NOMAD_TRY(add(std::string{value.type()->fields[i].name}, value.fields()[i]));
    }
    std::ranges::move(tables, std::back_inserter(direct));
    return direct;
  }

  Result<void> members(const Value& value) {
    for (const auto& [name, held] : NOMAD_TRY(ordered(value))) {
      key_.push_back(name);
      NOMAD_TRY(encode(held));
      key_.pop_back();
    }
    return {};
  }

  Result<void> element(const Value& value, int depth) {
    NOMAD_TRY(room(depth));
    switch (value.kind()) {
      case Kind::boolean:
        out_ += value.as_boolean() ? "true" : "false";
        return {};
      case Kind::integer:
        out_ += std::to_string(value.as_integer());
        return {};
      case Kind::natural:
        out_ += std::to_string(value.as_natural());
        return {};
      case Kind::number:
        number(value.as_number());
        return {};
      case Kind::text:
        out_ += in_quotes(value.as_text());
        return {};
      case Kind::list:
        return list(value, depth);
      case Kind::map:
      case Kind::structure:
        if (is_time(value)) {
          out_ += format_rfc3339(nanoseconds_of(value));
          return {};
        }
        return inline_table(value, depth);
      case Kind::any:
      case Kind::function:
        break;
    }
    return function_error("unexpected type: " + std::string{type_name(value)});
  }

  void number(double value) {
    if (std::isnan(value)) {
      out_ += "nan";
    } else if (std::isinf(value)) {
      out_ += value < 0 ? "-inf" : "+inf";
    } else {
      const std::string text = format_number(value, 'f');
      out_ += text;
      if (text.find('.') == std::string::npos) out_ += ".0";
    }
  }

  Result<void> list(const Value& list, int depth) {
    out_ += '[';
    bool first = true;
    for (const Value& item : list.items()) {
      if (item.is_nil()) return function_error("toml: cannot encode array with nil element");
      if (!std::exchange(first, false)) out_ += ", ";
      NOMAD_TRY(element(item, depth + 1));
    }
    out_ += ']';
    return {};
  }

  Result<void> inline_table(const Value& table, int depth) {
    out_ += '{';
    bool first = true;
    for (const auto& [name, held] : NOMAD_TRY(ordered(table))) {
      if (!std::exchange(first, false)) out_ += ", ";
      out_ += shown_part(name) + " = ";
      NOMAD_TRY(element(held, depth + 1));
    }
    out_ += '}';
    return {};
  }

  std::size_t limit_;
  std::string out_;
  Key key_;
};

}  // namespace

Result<std::string> write_toml(const Value& value, std::size_t limit) {
  return TomlWriter{limit}.write(value);
}

}  // namespace nomad::templates
