#include "runtime/template/functions/yaml.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "runtime/base/base64.hpp"
#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/template/functions/time_value.hpp"
#include "runtime/template/functions/yaml_scalar.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/number_text.hpp"
#include "runtime/text/yaml.hpp"

namespace nomad::templates {
namespace {

class YamlReader {
public:
  YamlReader(Context& context, std::string_view text) : context_{context}, parser_{text} {}

  Result<Value> read() {
    for (;;) {
      YamlEvent event;
      NOMAD_TRY(next(event));
      if (event.type() == YAML_STREAM_END_EVENT) return Value{};
      if (event.type() == YAML_DOCUMENT_START_EVENT) break;
    }
    YamlEvent first;
    NOMAD_TRY(next(first));
    return node(first, 0);
  }

private:
  /// What an anchor stands for, and how many values that is.
  struct Anchor {
    Value value;
    std::uint64_t weight;
  };

  Result<void> next(YamlEvent& event) {
    if (parser_.next(event)) return {};
    const std::size_t line = parser_.problem_mark().line;
    const std::string_view problem = parser_.problem();
    return function_error(
        "yaml: " + (line == 0 ? "" : "line " + std::to_string(line) + ": ")
        + std::string{problem.empty() ? "unknown problem parsing YAML content" : problem});
  }

  Result<Value> node(const YamlEvent& event, int depth) {
    if (depth > max_depth) return Error{Errc::too_large, "yaml: nested too deep"};
    NOMAD_TRY(context_.step());
    ++weight_;
    const std::uint64_t before = weight_;
    Value value;
    switch (event.type()) {
      case YAML_ALIAS_EVENT: {
        const auto known = anchors_.find(event.anchor());
        if (known == anchors_.end())
          return function_error("yaml: unknown anchor '" + std::string{event.anchor()}
                                + "' referenced");
        weight_ += known->second.weight;
        NOMAD_TRY(context_.step(known->second.weight));
        return known->second.value;
      }
      case YAML_SCALAR_EVENT:
        value = NOMAD_TRY(scalar(event));
        break;
      case YAML_SEQUENCE_START_EVENT:
        value = NOMAD_TRY(sequence(depth));
        break;
      case YAML_MAPPING_START_EVENT:
        value = NOMAD_TRY(mapping(depth));
        break;
      default:
        return function_error("yaml: attempted to parse unknown event");
    }
    if (!event.anchor().empty())
      anchors_.insert_or_assign(std::string{event.anchor()}, Anchor{value, weight_ - before + 1});
    return value;
  }

  Result<Value> scalar(const YamlEvent& event) {
    const std::string_view text = event.text();
    const std::string_view tag = event.tag();
    NOMAD_TRY(context_.make(text.size()));
    if (tag == "tag:yaml.org,2002:binary")
      return Value::text(NOMAD_TRY(decode_base64(text).within("yaml: !!binary value")));
    if (tag == "tag:yaml.org,2002:str" || (!event.is_plain() && tag.empty()) || tag == "!")
      return Value::text(std::string{text});
    Value value = resolve_scalar(text);
    if (tag == "tag:yaml.org,2002:float" && value.kind() == Kind::integer)
      return Value::number(static_cast<double>(value.as_integer()));
    return value;
  }

  Result<Value> sequence(int depth) {
    std::vector<Value> items;
    for (;;) {
      YamlEvent event;
      NOMAD_TRY(next(event));
      if (event.type() == YAML_SEQUENCE_END_EVENT) return Value::list(std::move(items));
      items.push_back(NOMAD_TRY(node(event, depth + 1)));
    }
  }

  /// "<<: *other": what the map does not have itself is the other's.
  static Result<void> merge(Map& into, const Value& other) {
    if (other.kind() == Kind::list) {
      for (const Value& one : other.items())
        NOMAD_TRY(merge(into, one));
      return {};
    }
    if (other.kind() != Kind::map)
      return function_error("yaml: map merge requires map or sequence of maps as the value");
    for (const auto& [key, value] : other.entries())
      into.entries.try_emplace(key, value);
    return {};
  }

  Result<Value> mapping(int depth) {
    auto map = std::make_shared<Map>();
    std::vector<Value> merged;
    for (;;) {
      YamlEvent event;
      NOMAD_TRY(next(event));
      if (event.type() == YAML_MAPPING_END_EVENT) break;
      const bool merges
          = event.type() == YAML_SCALAR_EVENT && event.text() == "<<" && event.is_plain();
      Value key = NOMAD_TRY(node(event, depth + 1));
      if (key.kind() > Kind::text) return function_error("yaml: invalid map key: " + shown(key));
      YamlEvent content;
      NOMAD_TRY(next(content));
      Value value = NOMAD_TRY(node(content, depth + 1));
      if (merges)
        merged.push_back(std::move(value));
      else
        map->set(std::move(key), std::move(value));
    }
    for (const Value& other : merged)
      NOMAD_TRY(merge(*map, other));
    return Value::map(std::move(map), types::any_key_map);
  }

  Context& context_;
  YamlParser parser_;
  std::uint64_t weight_ = 0;
  std::map<std::string, Anchor, std::less<>> anchors_;
};

class YamlWriter {
public:
  explicit YamlWriter(std::size_t limit) : emitter_{limit} {}

  Result<std::string> write(const Value& value) {
    NOMAD_TRY(emitter_.begin());
    NOMAD_TRY(node(value, 0));
    return emitter_.finish();
  }

private:
  Result<void> scalar(std::string_view text) {
    return emitter_.scalar(text, YAML_PLAIN_SCALAR_STYLE);
  }

  Result<void> text(std::string_view text) {
    if (!is_valid_utf8(text))
      return emitter_.scalar(encode_base64(text), YAML_PLAIN_SCALAR_STYLE,
                             "tag:yaml.org,2002:binary");
    if (text.find('\n') != std::string_view::npos)
      return emitter_.scalar(text, YAML_LITERAL_SCALAR_STYLE);
    return emitter_.scalar(
        text, is_plain_text(text) ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  Result<void> number(double value) {
    const std::string text = format_number(value);
    if (text == "+Inf") return scalar(".inf");
    if (text == "-Inf") return scalar("-.inf");
    return scalar(text == "NaN" ? ".nan" : text);
  }

  Result<void> node(const Value& value, int depth) {
    if (depth > max_depth) return Error{Errc::too_large, "yaml: nested too deep"};
    const bool is_null_pointer = value.is_nil() && (value.is_invalid() || value.type()->is_pointer);
    if (is_null_pointer) return scalar("null");
    if (is_time(value))
      return scalar(format_time("2006-01-02T15:04:05.999999999Z07:00", moment_of(value)));
    switch (value.kind()) {
      case Kind::boolean:
        return scalar(value.as_boolean() ? "true" : "false");
      case Kind::integer:
        return scalar(std::to_string(value.as_integer()));
      case Kind::natural:
        return scalar(std::to_string(value.as_natural()));
      case Kind::number:
        return number(value.as_number());
      case Kind::text:
        return text(value.as_text());
      case Kind::list:
        return sequence(value, depth);
      case Kind::structure:
        if (value.type()->fields.empty() && value.type()->show != nullptr)
          return text(value.type()->show(value));
        return mapping(value, depth);
      case Kind::map:
        return mapping(value, depth);
      case Kind::any:
      case Kind::function:
        break;
    }
    return function_error("cannot marshal type: " + std::string{type_name(value)});
  }

  Result<void> sequence(const Value& list, int depth) {
    if (list.type() == &types::int64_channel)
      return function_error("cannot marshal type: " + std::string{type_name(list)});
    NOMAD_TRY(emitter_.begin_sequence());
    for (const Value& item : list.items())
      NOMAD_TRY(node(item, depth + 1));
    return emitter_.end_sequence();
  }

  Result<void> mapping(const Value& value, int depth) {
    NOMAD_TRY(emitter_.begin_mapping());
    if (value.kind() == Kind::structure) {
      for (std::size_t i = 0; i < value.type()->fields.size(); ++i) {
        NOMAD_TRY(text(to_lower(value.type()->fields[i].name)));
        NOMAD_TRY(node(value.fields()[i], depth + 1));
      }
    } else {
      std::vector<std::pair<Value, Value>> entries{value.entries().begin(), value.entries().end()};
      sort_stably(entries, is_before, &std::pair<Value, Value>::first);
      for (const auto& [key, held] : entries) {
        NOMAD_TRY(node(key, depth + 1));
        NOMAD_TRY(node(held, depth + 1));
      }
    }
    return emitter_.end_mapping();
  }

  YamlEmitter emitter_;
};

}  // namespace

Result<Value> read_yaml(Context& context, std::string_view text) {
  return YamlReader{context, text}.read();
}

Result<std::string> write_yaml(const Value& value, std::size_t limit) {
  return YamlWriter{limit}.write(value);
}

}  // namespace nomad::templates
