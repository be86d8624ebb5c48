#include "runtime/template/functions/json.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "runtime/base/base64.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/json.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::templates {
namespace {

/// Makes values of what is read.
struct JsonMaker {
  using Value = templates::Value;
  using Array = std::vector<Value>;
  using Object = std::shared_ptr<Map>;

  Context& context;

  Result<void> begin(int depth) {
    if (depth > max_depth) return function_error("exceeded max depth");
    return context.step();
  }

  Result<void> open(int) { return {}; }

  Result<Value> number(std::string_view text) {
    const auto found = parse_number(text);
    if (found.fault)
      return function_error("json: cannot unmarshal number " + std::string{text}
                            + " into Go value of type float64");
    return Value::number(found.value);
  }

  Result<Value> string(std::string text) { return made_text(context, std::move(text)); }

  Value boolean(bool value) { return Value::boolean(value); }

  Value null() { return {}; }

  void add(Array& array, Value value) { array.push_back(std::move(value)); }

  void add(Object& object, std::string_view key, Value value) {
    if (object == nullptr) object = std::make_shared<Map>();
    object->set(key, std::move(value));
  }

  Value finish(Array array) { return Value::list(std::move(array)); }

  Value finish(Object object) {
    return Value::map(object == nullptr ? std::make_shared<Map>() : std::move(object));
  }
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

  void string(std::string_view text) { append_json_string(out_, text, style_.escapes_html); }

  void line(int depth) {
    if (!style_.is_pretty) return;
    out_ += '\n';
    out_.append(2 * static_cast<std::size_t>(depth), ' ');
  }

  Result<void> list(const Value& list, int depth) {
    if (list.type()->element == &types::byte) {
      string(encode_base64(bytes_of(list)));
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
  JsonMaker maker{context};
  return JsonReader<JsonMaker, JsonWords::whole>{maker, text}.read();
}

Result<std::string> write_json(const Value& value, const JsonStyle& style, std::size_t limit) {
  return JsonWriter{style, limit}.write(value);
}

}  // namespace nomad::templates
