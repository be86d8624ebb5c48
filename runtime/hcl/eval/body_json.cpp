// Bodies in JSON syntax: objects whose properties are arguments, or blocks with their labels as
// nested property names.
#include <algorithm>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/body_impl.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* wrong_type = "Incorrect JSON value type";

template <class T>
bool contains(const std::vector<T>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

Attribute BodyReader::json_attribute(const JsonProperty& property) const {
  return {property.name, &property.value_expr, cover(property.name_span, property.value().span),
          property.name_span, nullptr};
}

/// The properties of an object, or of all objects of an array. `label` is the name of the label
/// that the properties stand for, null when they are arguments and blocks.
std::vector<const JsonProperty*> BodyReader::properties(const JsonNode& node,
                                                        const std::string_view* label,
                                                        Diagnostics& out) const {
  std::vector<const JsonProperty*> found;
  const auto add = [&](const JsonNode& object) {
    for (const JsonProperty& property : object.properties)
      found.push_back(&property);
  };
  const std::string purpose = label != nullptr
                                  ? "to specify " + std::string{*label} + " labels for this block."
                                  : "to define arguments and child blocks.";
  if (node.kind == JsonNode::Kind::object) {
    add(node);
  } else if (node.kind == JsonNode::Kind::array) {
    for (const JsonExpr& element : node.element_exprs) {
      if (element.node->kind == JsonNode::Kind::object)
        add(*element.node);
      else
        error(out, element.node->start(), wrong_type, "A JSON object is required here, " + purpose);
    }
  } else if (node.kind != JsonNode::Kind::null) {
    error(out, node.start(), wrong_type,
          "Either a JSON object or JSON array of objects is required here, " + purpose);
  }
  return found;
}

BodyContent BodyReader::json_partial(const Wanted& wanted, std::vector<std::string>* used) const {
  BodyContent out;
  for (const JsonProperty* property : properties(*body_.json, nullptr, out.diagnostics)) {
    const std::string_view name = property->name;
    if (hides_attribute(name)) continue;
    if (wanted.has_attribute(name)) {
      if (const Attribute* existing = out.find(name))
        error(out.diagnostics, property->name_span, "Duplicate argument",
              "The argument " + quote(name) + " was already set at " + existing->range().to_string()
                  + ".");
      else
        out.attributes.push_back(json_attribute(*property));
      if (used != nullptr) used->emplace_back(name);
      continue;
    }
    const BlockSchema* block = nullptr;  // of two for a type the first
    wanted.each_block([&](const BlockSchema& candidate) {
      if (block == nullptr && candidate.type == name) block = &candidate;
    });
    if (block == nullptr) continue;
    std::vector<std::string> labels;
    std::vector<Span> spans;
    unpack(property->value(), *block, labels, spans, property->name_span, out);
    if (used != nullptr) used->emplace_back(name);
  }
  missing_arguments(wanted, out);
  return out;
}

void BodyReader::missing_arguments(const Wanted& wanted, BodyContent& out) const {
  for (const AttributeSchema& schema : wanted.attributes())
    if (schema.required && out.find(schema.name) == nullptr)
      error(out.diagnostics, missing_item(), "Missing required argument",
            "The argument " + quote(schema.name) + " is required, but no definition was found.");
}

void BodyReader::json_leftovers(const Wanted& wanted,
                                const std::vector<std::string>& used,
                                Diagnostics& out) const {
  std::vector<std::string_view> names;
  for (const std::string_view name : wanted.attribute_names())
    if (!contains(used, name) && !hides_attribute(name)) names.push_back(name);
  wanted.each_block([&](const BlockSchema& block) { names.push_back(block.type); });
  for (const JsonProperty* property : properties(*body_.json, nullptr, out)) {
    const std::string_view name = property->name;
    if (name == "//" || contains(used, name) || hides_attribute(name)) continue;
    const std::string_view near = name_suggestion(name, names);
    error(out, property->name_span, "Extraneous JSON object property",
          "No argument or block type is named " + quote(name) + "."
              + (near.empty() ? "" : " Did you mean " + quote(near) + "?"));
    out.back().suggestion = near;
  }
}

/// Takes one property level per label, then reads the blocks.
void BodyReader::unpack(const JsonNode& node,
                        const BlockSchema& schema,
                        std::vector<std::string>& labels,
                        std::vector<Span>& spans,
                        Span type,
                        BodyContent& out) const {
  if (labels.size() < schema.label_names.size()) {
    const std::string_view label = schema.label_names[labels.size()];
    const auto found = properties(node, &label, out.diagnostics);
    if (found.empty())
      error(out.diagnostics, node.start(), "Missing block label",
            "At least one object property is required, whose name represents the "
                + std::string{schema.type} + " block's " + std::string{label} + ".");
    for (const JsonProperty* property : found) {
      labels.emplace_back(property->name);
      spans.push_back(property->name_span);
      unpack(property->value(), schema, labels, spans, type, out);
      labels.pop_back();
      spans.pop_back();
    }
    return;
  }
  switch (node.kind) {
    case JsonNode::Kind::null:
      return;
    case JsonNode::Kind::object:
      return add_json_block(node, node.open, schema, labels, spans, type, out);
    case JsonNode::Kind::array:
      for (const JsonExpr& element : node.element_exprs)
        add_json_block(*element.node, node.open, schema, labels, spans, type, out);
      return;
    case JsonNode::Kind::invalid:
    case JsonNode::Kind::boolean:
    case JsonNode::Kind::number:
    case JsonNode::Kind::string:
      break;
  }
  error(
      out.diagnostics, node.start(), wrong_type,
      "Either a JSON object or a JSON array is required, representing the contents of one or more "
          + quote(schema.type) + " blocks.");
}

void BodyReader::add_json_block(const JsonNode& node,
                                Span open,
                                const BlockSchema& schema,
                                const std::vector<std::string>& labels,
                                const std::vector<Span>& spans,
                                Span type,
                                BodyContent& out) const {
  Block block;
  block.type = source_.text({type.begin + 1, type.end - 1}) == schema.type
                   ? source_.text({type.begin + 1, type.end - 1})
                   : schema.type;
  block.labels = labels;
  block.body = child(body_, nullptr, &node);
  block.definition_span = open;
  block.type_span = type;
  block.label_spans = spans;
  out.blocks.push_back(std::move(block));
}

}  // namespace nomad::hcl
