// `yamlencode` and `yamldecode`: YAML 1.1, with the core types only.
#include <map>
#include <set>

#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/hcl/functions/yaml_scalar.hpp"
#include "runtime/text/yaml.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

constexpr std::size_t max_nodes = 1'000'000;

// --- encoding ----------------------------------------------------------------------------------

Result<void> encode(YamlEmitter& emitter, std::string_view text) {
  return emitter.scalar(text, text.find('\n') != std::string_view::npos
                                  ? YAML_LITERAL_SCALAR_STYLE
                                  : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

/// What is written as it is.
std::optional<std::string> plain(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return value.as_bool() ? "true" : "false";
  if (value.is_number()) return value.as_number().to_string();
  return std::nullopt;
}

Result<void> encode(YamlEmitter& emitter, const Value& value) {
  if (const auto text = plain(value)) return emitter.scalar(*text, YAML_PLAIN_SCALAR_STYLE);
  if (value.is_string()) return encode(emitter, value.as_string());
  if (value.is_sequence()) {
    NOMAD_TRY(emitter.begin_sequence());
    for (const Value& element : value.elements())
      NOMAD_TRY(encode(emitter, element));
    return emitter.end_sequence();
  }
  NOMAD_TRY(emitter.begin_mapping());
  for (const auto& [key, element] : value.entries()) {
    NOMAD_TRY(encode(emitter, key));
    NOMAD_TRY(encode(emitter, element));
  }
  return emitter.end_mapping();
}

Result<std::string> encoded(const Value& value) {
  YamlEmitter emitter{max_result_bytes};
  NOMAD_TRY(emitter.begin());
  NOMAD_TRY(encode(emitter, value));
  // A plain scalar alone is open-ended.
  return NOMAD_TRY(emitter.finish()) + (plain(value) ? "...\n" : "");
}

FunctionResult yaml_encode(Args args) {
  if (!args[0].is_wholly_known()) return Value::unknown(Type::string());
  const auto out = encoded(args[0]);
  if (!out) return out.error().code == Errc::too_large ? too_large() : fail(out.error().what);
  return text(*out);
}

// --- decoding ----------------------------------------------------------------------------------

Error mistake(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

Error mistake_at(yaml_mark_t mark, std::string_view what) {
  if (mark.line == 0) return mistake(std::string{what});
  return mistake("on line " + std::to_string(mark.line) + ", column "
                 + std::to_string(mark.column + 1) + ": " + std::string{what});
}

class YamlDecoder {
public:
  explicit YamlDecoder(std::string_view text) : parser_{text.empty() ? "\n" : text} {}

  Result<Value> document() {
    YamlEvent stream;
    YamlEvent start;
    NOMAD_TRY(next(stream));
    NOMAD_TRY(next(start));
    if (start.type() != YAML_DOCUMENT_START_EVENT)
      return mistake_at(start.start(), "missing start of document");
    Value out = NOMAD_TRY(node());
    YamlEvent end;
    NOMAD_TRY(next(end));  // of the document
    YamlEvent after;
    NOMAD_TRY(next(after));
    if (after.type() != YAML_STREAM_END_EVENT)
      return mistake_at(after.start(), "unexpected extra content after value");
    return out;
  }

private:
  Result<void> next(YamlEvent& event) {
    if (parser_.next(event)) return {};
    return mistake_at(parser_.problem_mark(), parser_.problem());
  }

  Result<Value> node() {
    YamlEvent event;
    NOMAD_TRY(next(event));
    return node(event);
  }

  Result<void> count(std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > max_nodes) return mistake("the YAML document has more nodes than are allowed");
    return {};
  }

  Result<Value> node(const YamlEvent& event) {
    NOMAD_TRY(count(1));
    switch (event.type()) {
      case YAML_SCALAR_EVENT:
      case YAML_MAPPING_START_EVENT:
      case YAML_SEQUENCE_START_EVENT: {
        const std::string anchor{event.anchor()};
        if (!anchor.empty()) pending_.insert(anchor);
        Value out = NOMAD_TRY(content(event));
        if (!anchor.empty()) {
          pending_.erase(pending_.find(anchor));
          anchors_.insert_or_assign(anchor, out);
        }
        return out;
      }
      case YAML_ALIAS_EVENT:
        return alias(event);
      default:
        return mistake_at(event.start(), "unexpected parser event");
    }
  }

  Result<Value> alias(const YamlEvent& event) {
    const std::string name{event.anchor()};
    if (pending_.contains(name))
      return mistake_at(event.start(), "cannot refer to anchor " + quote(name)
                                           + " from inside its own definition");
    const auto found = anchors_.find(name);
    if (found == anchors_.end())
      return mistake_at(event.start(), "reference to undefined anchor " + quote(name));
    return found->second;
  }

  Result<Value> content(const YamlEvent& event) {
    if (event.type() == YAML_SCALAR_EVENT) return scalar(event);
    if (++depth_ > max_nesting)
      return mistake("YAML values may be nested at most " + std::to_string(max_nesting)
                     + " levels deep");
    const bool is_mapping = event.type() == YAML_MAPPING_START_EVENT;
    if (!event.tag().empty() && event.tag() != (is_mapping ? YAML_MAP_TAG : YAML_SEQ_TAG))
      return mistake_at(event.start(), std::string{"can't interpret "}
                                           + (is_mapping ? "mapping" : "sequence") + " as "
                                           + std::string{event.tag()});
    Value out = NOMAD_TRY(is_mapping ? mapping() : sequence());
    --depth_;
    return out;
  }

  static YamlScalar resolved(const YamlEvent& event) {
    return resolve_yaml_scalar(event.tag(), event.text(), event.is_quoted());
  }

  static Result<Value> scalar(const YamlEvent& event) {
    YamlScalar scalar = resolved(event);
    if (!scalar.error.empty()) return mistake_at(event.start(), scalar.error);
    Value out = scalar.is_merge ? Value::string("<<") : std::move(scalar.value);
    // An untagged scalar in a style of its own is a string, whatever it looks like.
    if (event.tag().empty() && !event.is_implicit())
      return std::get<Value>(convert(out, Type::string()));
    return out;
  }

  Result<Value> sequence() {
    Value::Elements elements;
    for (;;) {
      YamlEvent event;
      NOMAD_TRY(next(event));
      if (event.type() == YAML_SEQUENCE_END_EVENT) return Value::tuple(std::move(elements));
      elements.push_back(NOMAD_TRY(node(event)));
    }
  }

  using Entries = std::map<std::string, Value, std::less<>>;

  Result<Value> mapping() {
    Entries entries;
    for (;;) {
      YamlEvent event;
      NOMAD_TRY(next(event));
      if (event.type() == YAML_MAPPING_END_EVENT)
        return Value::object({entries.begin(), entries.end()});
      NOMAD_TRY(entry(event, entries));
    }
  }

  Result<void> entry(const YamlEvent& event, Entries& entries) {
    if (event.type() != YAML_SCALAR_EVENT)
      return mistake_at(event.start(), "only strings are allowed as mapping keys");
    const YamlScalar key = resolved(event);
    if (!key.error.empty()) return mistake(key.error);
    const Value name = std::get<Value>(convert(key.value, Type::string()));
    if (!key.is_merge && name.is_null())
      return mistake_at(event.start(), "mapping key cannot be null");
    Value value = NOMAD_TRY(node());
    if (!key.is_merge) {
      entries.insert_or_assign(std::string{name.as_string()}, std::move(value));
      return {};
    }
    if (!value.is_mapping())
      return mistake_at(event.start(),
                        "cannot merge " + value.type().friendly_name() + " into mapping");
    for (const auto& [merged, content] : value.entries())
      entries.insert_or_assign(merged, content);
    return count(value.size());
  }

  YamlParser parser_;
  int depth_ = 0;
  std::size_t nodes_ = 0;
  std::multiset<std::string> pending_;
  std::map<std::string, Value> anchors_;
};

FunctionResult yaml_decode(Args args) {
  return NOMAD_TRY(YamlDecoder{args[0].as_string()}.document());
}

}  // namespace

void add_yaml_functions(std::vector<Function>& out) {
  out.push_back({"yamlencode", {{"value", Type::dynamic(), true}}, std::nullopt, yaml_encode});
  out.push_back({"yamldecode", {{"src", Type::string()}}, std::nullopt, yaml_decode});
}

}  // namespace nomad::hcl
