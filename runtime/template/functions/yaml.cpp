#include "runtime/template/functions/yaml.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include <yaml.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/template/functions/time_value.hpp"
#include "runtime/template/functions/yaml_scalar.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::templates {
namespace {

std::string_view view_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view{} : reinterpret_cast<const char*>(text);
}

/// An event that is freed when it goes.
class Event {
public:
  Event() = default;

  ~Event() { yaml_event_delete(&event_); }

  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  yaml_event_t* get() { return &event_; }

  yaml_event_type_t type() const { return event_.type; }

  const yaml_event_t& operator*() const { return event_; }

private:
  yaml_event_t event_{};
};

class YamlReader {
public:
  YamlReader(Context& context, std::string_view text) : context_{context} {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }

  ~YamlReader() { yaml_parser_delete(&parser_); }

  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  Result<Value> read() {
    if (!ready_) return Error{Errc::internal, "yaml: no parser"};
    for (;;) {
      Event event;
      NOMAD_TRY(next(event));
      if (event.type() == YAML_STREAM_END_EVENT) return Value{};
      if (event.type() == YAML_DOCUMENT_START_EVENT) break;
    }
    Event first;
    NOMAD_TRY(next(first));
    return node(first, 0);
  }

private:
  /// What an anchor stands for, and how many values that is.
  struct Anchor {
    Value value;
    std::uint64_t weight;
  };

  Result<void> next(Event& event) {
    if (yaml_parser_parse(&parser_, event.get()) != 0) return {};
    std::size_t line = parser_.problem_mark.line;
    if (line != 0 && parser_.error == YAML_SCANNER_ERROR) ++line;
    if (line == 0) line = parser_.context_mark.line;
    const std::string where = line == 0 ? "" : "line " + std::to_string(line) + ": ";
    return function_error(
        "yaml: " + where
        + (parser_.problem == nullptr ? "unknown problem parsing YAML content" : parser_.problem));
  }

  Result<Value> node(Event& event, int depth) {
    if (depth > max_depth) return Error{Errc::too_large, "yaml: nested too deep"};
    NOMAD_TRY(context_.step());
    ++weight_;
    const yaml_event_t& raw = *event;
    const std::uint64_t before = weight_;
    std::string anchor;
    Value value;
    switch (event.type()) {
      case YAML_ALIAS_EVENT: {
        const std::string name{view_of(raw.data.alias.anchor)};
        const auto known = anchors_.find(name);
        if (known == anchors_.end())
          return function_error("yaml: unknown anchor '" + name + "' referenced");
        weight_ += known->second.weight;
        NOMAD_TRY(context_.step(known->second.weight));
        return known->second.value;
      }
      case YAML_SCALAR_EVENT:
        anchor = view_of(raw.data.scalar.anchor);
        value = NOMAD_TRY(scalar(raw));
        break;
      case YAML_SEQUENCE_START_EVENT:
        anchor = view_of(raw.data.sequence_start.anchor);
        value = NOMAD_TRY(sequence(depth));
        break;
      case YAML_MAPPING_START_EVENT:
        anchor = view_of(raw.data.mapping_start.anchor);
        value = NOMAD_TRY(mapping(depth));
        break;
      default:
        return function_error("yaml: attempted to parse unknown event");
    }
    if (!anchor.empty()) anchors_.insert_or_assign(anchor, Anchor{value, weight_ - before + 1});
    return value;
  }

  Result<Value> scalar(const yaml_event_t& event) {
    const std::string_view text{reinterpret_cast<const char*>(event.data.scalar.value),
                                event.data.scalar.length};
    const std::string_view tag = view_of(event.data.scalar.tag);
    NOMAD_TRY(context_.make(text.size()));
    if (tag == "tag:yaml.org,2002:binary")
      return Value::text(NOMAD_TRY(decode_base64(text).within("yaml: !!binary value")));
    const bool is_plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag == "tag:yaml.org,2002:str" || (!is_plain && tag.empty()) || tag == "!")
      return Value::text(std::string{text});
    Value value = resolve_scalar(text);
    if (tag == "tag:yaml.org,2002:float" && value.kind() == Kind::integer)
      return Value::number(static_cast<double>(value.as_integer()));
    return value;
  }

  Result<Value> sequence(int depth) {
    std::vector<Value> items;
    for (;;) {
      Event event;
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
      Event event;
      NOMAD_TRY(next(event));
      if (event.type() == YAML_MAPPING_END_EVENT) break;
      const bool merges = event.type() == YAML_SCALAR_EVENT
                          && view_of((*event).data.scalar.value) == "<<"
                          && (*event).data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
      Value key = NOMAD_TRY(node(event, depth + 1));
      if (key.kind() > Kind::text) return function_error("yaml: invalid map key: " + shown(key));
      Event content;
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
  yaml_parser_t parser_{};
  bool ready_ = false;
  std::uint64_t weight_ = 0;
  std::map<std::string, Anchor, std::less<>> anchors_;
};

class YamlWriter {
public:
  explicit YamlWriter(std::size_t limit) : limit_{limit} {
    ready_ = yaml_emitter_initialize(&emitter_) != 0;
    yaml_emitter_set_output(&emitter_, &YamlWriter::take, this);
    yaml_emitter_set_unicode(&emitter_, 1);
  }

  ~YamlWriter() { yaml_emitter_delete(&emitter_); }

  YamlWriter(const YamlWriter&) = delete;
  YamlWriter& operator=(const YamlWriter&) = delete;

  Result<std::string> write(const Value& value) {
    yaml_event_t event;
    if (!ready_ || yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 0)
      return Error{Errc::internal, "yaml: no emitter"};
    NOMAD_TRY(emit(event));
    yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
    NOMAD_TRY(emit(event));
    NOMAD_TRY(node(value, 0));
    yaml_document_end_event_initialize(&event, 1);
    NOMAD_TRY(emit(event));
    emitter_.open_ended = 0;  // No "..." behind a plain scalar.
    yaml_stream_end_event_initialize(&event);
    NOMAD_TRY(emit(event));
    return std::move(out_);
  }

private:
  static int take(void* self, unsigned char* bytes, std::size_t size) {
    auto& writer = *static_cast<YamlWriter*>(self);
    if (size > writer.limit_ - writer.out_.size()) return 0;
    writer.out_.append(reinterpret_cast<const char*>(bytes), size);
    return 1;
  }

  Result<void> emit(yaml_event_t& event) {
    if (yaml_emitter_emit(&emitter_, &event) != 0) return {};
    if (emitter_.error == YAML_WRITER_ERROR)
      return Error{Errc::too_large, "yaml: the text is too long"};
    return function_error(std::string{"yaml: "}
                          + (emitter_.problem == nullptr ? "unknown problem generating YAML content"
                                                         : emitter_.problem));
  }

  Result<void> scalar(std::string_view text,
                      yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE,
                      const char* tag = nullptr) {
    yaml_event_t event;
    const int implicit = tag == nullptr ? 1 : 0;
    if (yaml_scalar_event_initialize(&event, nullptr, reinterpret_cast<const yaml_char_t*>(tag),
                                     reinterpret_cast<const yaml_char_t*>(text.data()),
                                     static_cast<int>(text.size()), implicit, implicit, style)
        == 0)
      return function_error("yaml: invalid value");
    return emit(event);
  }

  Result<void> text(std::string_view text) {
    if (!is_valid_utf8(text))
      return scalar(encode_base64(text), YAML_PLAIN_SCALAR_STYLE, "tag:yaml.org,2002:binary");
    if (text.find('\n') != std::string_view::npos) return scalar(text, YAML_LITERAL_SCALAR_STYLE);
    return scalar(text,
                  is_plain_text(text) ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
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
      return scalar(format_time("2006-01-02T15:04:05.999999999Z07:00", nanoseconds_of(value)));
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
    yaml_event_t event;
    yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE);
    NOMAD_TRY(emit(event));
    for (const Value& item : list.items())
      NOMAD_TRY(node(item, depth + 1));
    yaml_sequence_end_event_initialize(&event);
    return emit(event);
  }

  Result<void> mapping(const Value& value, int depth) {
    yaml_event_t event;
    yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE);
    NOMAD_TRY(emit(event));
    if (value.kind() == Kind::structure) {
      for (std::size_t i = 0; i < value.type()->fields.size(); ++i) {
        NOMAD_TRY(text(to_lower(value.type()->fields[i].name)));
        NOMAD_TRY(node(value.fields()[i], depth + 1));
      }
    } else {
      std::vector<std::pair<Value, Value>> entries{value.entries().begin(), value.entries().end()};
      std::ranges::stable_sort(entries, is_before, &std::pair<Value, Value>::first);
      for (const auto& [key, held] : entries) {
        NOMAD_TRY(node(key, depth + 1));
        NOMAD_TRY(node(held, depth + 1));
      }
    }
    yaml_mapping_end_event_initialize(&event);
    return emit(event);
  }

  std::size_t limit_;
  std::string out_;
  yaml_emitter_t emitter_{};
  bool ready_ = false;
};

}  // namespace

Result<Value> read_yaml(Context& context, std::string_view text) {
  return YamlReader{context, text}.read();
}

Result<std::string> write_yaml(const Value& value, std::size_t limit) {
  return YamlWriter{limit}.write(value);
}

}  // namespace nomad::templates
