// `yamlencode` and `yamldecode`, on libyaml: YAML 1.1, with the core types only.
#include <map>
#include <set>

#include <yaml.h>

#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/hcl/functions/yaml_scalar.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

constexpr std::size_t max_nodes = 1'000'000;

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view{}
                         : std::string_view{reinterpret_cast<const char*>(text)};
}

// --- encoding ----------------------------------------------------------------------------------

class YamlEncoder {
public:
  YamlEncoder() {
    ready_ = yaml_emitter_initialize(&emitter_) != 0;
    if (!ready_) return;
    yaml_emitter_set_output(&emitter_, &YamlEncoder::write, this);
    yaml_emitter_set_unicode(&emitter_, 1);
  }

  ~YamlEncoder() { yaml_emitter_delete(&emitter_); }

  YamlEncoder(const YamlEncoder&) = delete;
  YamlEncoder& operator=(const YamlEncoder&) = delete;

  FunctionResult run(const Value& value) {
    yaml_event_t event;
    const bool done
        = ready_ && yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) != 0
          && emit(event)
          && yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1) != 0
          && emit(event) && node(value) && yaml_document_end_event_initialize(&event, 1) != 0
          && emit(event) && yaml_stream_end_event_initialize(&event) != 0 && emit(event);
    if (done) {
      // A plain scalar alone is open-ended; libyaml marks other documents so instead.
      constexpr std::string_view end = "...\n";
      if (out_.ends_with("\n...\n")) out_.resize(out_.size() - end.size());
      if (value.is_null() || value.is_bool() || value.is_number()) out_ += end;
      return text(out_);
    }
    return fail(emitter_.problem != nullptr ? emitter_.problem : "failed to write YAML token");
  }

private:
  static int write(void* self, unsigned char* bytes, std::size_t size) {
    std::string& out = static_cast<YamlEncoder*>(self)->out_;
    if (out.size() + size > max_result_bytes) return 0;
    out.append(reinterpret_cast<const char*>(bytes), size);
    return 1;
  }

  bool emit(yaml_event_t& event) { return yaml_emitter_emit(&emitter_, &event) != 0; }

  bool scalar(std::string_view content, yaml_scalar_style_t style) {
    yaml_event_t event;
    const auto* bytes = reinterpret_cast<const yaml_char_t*>(content.data());
    return yaml_scalar_event_initialize(&event, nullptr, nullptr, bytes,
                                        static_cast<int>(content.size()), 1, 1, style)
               != 0
           && emit(event);
  }

  bool string(std::string_view content) {
    return scalar(content, content.find('\n') != std::string_view::npos
                               ? YAML_LITERAL_SCALAR_STYLE
                               : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  bool node(const Value& value) {
    if (value.is_null()) return scalar("null", YAML_PLAIN_SCALAR_STYLE);
    if (value.is_string()) return string(value.as_string());
    if (value.is_bool()) return scalar(value.as_bool() ? "true" : "false", YAML_PLAIN_SCALAR_STYLE);
    if (value.is_number()) return scalar(value.as_number().to_string(), YAML_PLAIN_SCALAR_STYLE);
    return value.is_sequence() ? sequence(value) : mapping(value);
  }

  bool sequence(const Value& value) {
    yaml_event_t event;
    if (yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE)
            == 0
        || !emit(event))
      return false;
    for (const Value& element : value.elements())
      if (!node(element)) return false;
    return yaml_sequence_end_event_initialize(&event) != 0 && emit(event);
  }

  bool mapping(const Value& value) {
    yaml_event_t event;
    if (yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE)
            == 0
        || !emit(event))
      return false;
    for (const auto& [key, element] : value.entries())
      if (!string(key) || !node(element)) return false;
    return yaml_mapping_end_event_initialize(&event) != 0 && emit(event);
  }

  bool ready_ = false;
  yaml_emitter_t emitter_{};
  std::string out_;
};

FunctionResult yaml_encode(Args args) {
  if (!args[0].is_wholly_known()) return Value::unknown(Type::string());
  YamlEncoder encoder;
  return encoder.run(args[0]);
}

// --- decoding ----------------------------------------------------------------------------------

/// An event that frees itself.
struct Event {
  Event() = default;

  ~Event() { yaml_event_delete(&event); }

  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  yaml_event_t event{};
};

class YamlDecoder {
public:
  explicit YamlDecoder(std::string_view text) : text_{text.empty() ? "\n" : text} {
    ready_ = yaml_parser_initialize(&parser_) != 0;
    if (ready_)
      yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text_.data()),
                                   text_.size());
  }

  ~YamlDecoder() { yaml_parser_delete(&parser_); }

  YamlDecoder(const YamlDecoder&) = delete;
  YamlDecoder& operator=(const YamlDecoder&) = delete;

  FunctionResult run() {
    auto out = ready_ ? document() : fail("failed to initialize YAML parser");
    return out ? FunctionResult{std::move(*out)} : hcl::fail(error_);
  }

private:
  std::nullopt_t fail(std::string message) {
    error_ = std::move(message);
    return std::nullopt;
  }

  std::nullopt_t fail_at(const yaml_event_t& event, const std::string& message) {
    if (event.start_mark.line == 0) return fail(message);
    return fail("on line " + std::to_string(event.start_mark.line) + ", column "
                + std::to_string(event.start_mark.column + 1) + ": " + message);
  }

  bool next(Event& out) {
    if (yaml_parser_parse(&parser_, &out.event) != 0) return true;
    const std::string problem
        = parser_.problem != nullptr ? parser_.problem : "invalid YAML syntax";
    std::size_t line = parser_.problem_mark.line;
    std::size_t column = parser_.problem_mark.column;
    if (line != 0 && parser_.error == YAML_SCANNER_ERROR) {
      ++line;
      column = 0;
    } else if (line == 0) {
      line = parser_.context_mark.line;
      column = parser_.context_mark.column;
    }
    error_ = line == 0 ? problem
                       : "on line " + std::to_string(line) + ", column "
                             + std::to_string(column + 1) + ": " + problem;
    return false;
  }

  std::optional<Value> document() {
    Event stream;
    Event start;
    if (!next(stream) || !next(start)) return std::nullopt;
    if (start.event.type != YAML_DOCUMENT_START_EVENT)
      return fail_at(start.event, "missing start of document");
    auto out = node();
    Event end;
    Event after;
    if (!out || !next(end)) return std::nullopt;
    if (end.event.type != YAML_DOCUMENT_END_EVENT)
      return fail_at(end.event, "only a single document is allowed");
    if (!next(after)) return std::nullopt;
    if (after.event.type != YAML_STREAM_END_EVENT)
      return fail_at(after.event, "unexpected extra content after value");
    return out;
  }

  std::optional<Value> node() {
    Event event;
    return next(event) ? node(event.event) : std::nullopt;
  }

  std::optional<Value> node(const yaml_event_t& event) {
    if (++nodes_ > max_nodes) return fail("the YAML document has more nodes than are allowed");
    switch (event.type) {
      case YAML_SCALAR_EVENT:
        return scalar(event);
      case YAML_ALIAS_EVENT:
        return alias(event);
      case YAML_MAPPING_START_EVENT:
      case YAML_SEQUENCE_START_EVENT: {
        if (++depth_ > max_nesting)
          return fail("YAML values may be nested at most " + std::to_string(max_nesting)
                      + " levels deep");
        auto out = event.type == YAML_MAPPING_START_EVENT ? mapping(event) : sequence(event);
        --depth_;
        return out;
      }
      case YAML_STREAM_END_EVENT:
        return fail_at(event, "expecting value but found end of stream");
      default:
        return fail_at(event, "unexpected parser event");
    }
  }

  void begin(std::string_view anchor) {
    if (!anchor.empty()) pending_.insert(std::string{anchor});
  }

  void complete(std::string_view anchor, const Value& value) {
    if (anchor.empty()) return;
    pending_.erase(pending_.find(std::string{anchor}));
    anchors_.insert_or_assign(std::string{anchor}, value);
  }

  std::optional<Value> alias(const yaml_event_t& event) {
    const std::string name{view(event.data.alias.anchor)};
    if (pending_.contains(name))
      return fail_at(event,
                     "cannot refer to anchor " + quote(name) + " from inside its own definition");
    const auto found = anchors_.find(name);
    if (found == anchors_.end())
      return fail_at(event, "reference to undefined anchor " + quote(name));
    return found->second;
  }

  static YamlScalar content(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const bool is_quoted = scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE
                           || scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return resolve_yaml_scalar(
        view(scalar.tag), {reinterpret_cast<const char*>(scalar.value), scalar.length}, is_quoted);
  }

  std::optional<Value> scalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    YamlScalar resolved = content(event);
    if (!resolved.error.empty()) return fail_at(event, resolved.error);
    Value out = resolved.is_merge ? Value::string("<<") : std::move(resolved.value);
    // An untagged scalar in a style of its own is a string, whatever it looks like.
    if (view(scalar.tag).empty() && scalar.plain_implicit == 0)
      out = std::get<Value>(convert(out, Type::string()));
    complete_scalar(view(scalar.anchor), out);
    return out;
  }

  void complete_scalar(std::string_view anchor, const Value& value) {
    begin(anchor);
    complete(anchor, value);
  }

  std::optional<Value> sequence(const yaml_event_t& start) {
    const std::string_view tag = view(start.data.sequence_start.tag);
    if (!tag.empty() && tag != YAML_SEQ_TAG)
      return fail_at(start, "can't interpret sequence as " + std::string{tag});
    const std::string_view anchor = view(start.data.sequence_start.anchor);
    begin(anchor);
    Value::Elements elements;
    for (;;) {
      Event event;
      if (!next(event)) return std::nullopt;
      if (event.event.type == YAML_SEQUENCE_END_EVENT) break;
      auto element = node(event.event);
      if (!element) return std::nullopt;
      elements.push_back(std::move(*element));
    }
    Value out = Value::tuple(std::move(elements));
    complete(anchor, out);
    return out;
  }

  std::optional<Value> mapping(const yaml_event_t& start) {
    const std::string_view tag = view(start.data.mapping_start.tag);
    if (!tag.empty() && tag != YAML_MAP_TAG)
      return fail_at(start, "can't interpret mapping as " + std::string{tag});
    const std::string_view anchor = view(start.data.mapping_start.anchor);
    begin(anchor);
    std::map<std::string, Value, std::less<>> entries;
    for (;;) {
      Event event;
      if (!next(event)) return std::nullopt;
      if (event.event.type == YAML_MAPPING_END_EVENT) break;
      if (!entry(event.event, entries)) return std::nullopt;
    }
    Value out = Value::object({entries.begin(), entries.end()});
    complete(anchor, out);
    return out;
  }

  bool entry(const yaml_event_t& key_event, std::map<std::string, Value, std::less<>>& entries) {
    constexpr const char* only_strings = "only strings are allowed as mapping keys";
    if (key_event.type != YAML_SCALAR_EVENT) {
      fail_at(key_event, only_strings);
      return false;
    }
    YamlScalar key = content(key_event);
    if (!key.error.empty()) {
      fail(key.error);
      return false;
    }
    const Converted name = convert(key.value, Type::string());
    if (!key.is_merge && std::get<Value>(name).is_null()) {
      fail_at(key_event, "mapping key cannot be null");
      return false;
    }
    auto value = node();
    if (!value) return false;
    if (!key.is_merge) {
      entries.insert_or_assign(std::string{std::get<Value>(name).as_string()}, std::move(*value));
      return true;
    }
    if (!value->is_mapping()) {
      fail_at(key_event, "cannot merge " + value->type().friendly_name() + " into mapping");
      return false;
    }
    nodes_ += value->size();
    for (const auto& [merged, content] : value->entries())
      entries.insert_or_assign(merged, content);
    if (nodes_ > max_nodes) fail("the YAML document has more nodes than are allowed");
    return nodes_ <= max_nodes;
  }

  std::string text_;
  bool ready_ = false;
  yaml_parser_t parser_{};
  std::string error_;
  int depth_ = 0;
  std::size_t nodes_ = 0;
  std::multiset<std::string> pending_;
  std::map<std::string, Value> anchors_;
};

FunctionResult yaml_decode(Args args) {
  YamlDecoder decoder{args[0].as_string()};
  return decoder.run();
}

}  // namespace

void add_yaml_functions(std::vector<Function>& out) {
  out.push_back({"yamlencode", {{"value", Type::dynamic(), true}}, std::nullopt, yaml_encode});
  out.push_back({"yamldecode", {{"src", Type::string()}}, std::nullopt, yaml_decode});
}

}  // namespace nomad::hcl
