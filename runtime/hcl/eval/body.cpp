// Bodies in native syntax, and what they have in common with those in JSON.
#include "runtime/hcl/eval/body.hpp"

#include <algorithm>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/body_impl.hpp"

namespace nomad::hcl {

namespace {

const AttributeNode* find_attribute(const BodyNode& body, std::string_view name) {
  for (const AttributeNode& attribute : body.attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

template <class Schemas>
auto* find_block_schema(Schemas& schemas, std::string_view type) {
  for (auto& schema : schemas)
    if (schema.type == type) return &schema;
  return static_cast<decltype(&schemas.front())>(nullptr);
}

void suggest(Diagnostics& diagnostics, std::string_view name) {
  if (!name.empty()) diagnostics.back().suggestion = name;
}

std::string did_you_mean(std::string_view name) {
  return name.empty() ? "" : " Did you mean " + quote(name) + "?";
}

}  // namespace

Evaluated Attribute::evaluate(const EvalContext* context) const {
  if (iteration == nullptr) return hcl::evaluate(*expr, context);
  const IterationScope scope{iteration.get(), context};
  return hcl::evaluate(*expr, scope.context());
}

IterationScope::IterationScope(const Iteration* iteration, const EvalContext* context)
    : context_{context} {
  if (iteration == nullptr) return;
  for (; iteration != nullptr; iteration = iteration->outer.get())
    variables_.emplace_back(iteration->name, iteration->object);
  own_.parent = context;
  own_.variables = &variables_;
  context_ = &own_;
}

const Attribute* BodyContent::find(std::string_view name) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

bool Body::Impl::hides_attribute(std::string_view name) const {
  return std::find(hidden_attributes.begin(), hidden_attributes.end(), name)
         != hidden_attributes.end();
}

bool Body::Impl::hides_block(std::string_view type) const {
  return find_block_schema(hidden_blocks, type) != nullptr;
}

Body::Body(std::shared_ptr<const File> file) {
  auto impl = std::make_shared<Impl>();
  impl->native = file->body();
  impl->json = file->json();
  impl->file = std::move(file);
  impl_ = std::move(impl);
}

const Source& Body::source() const {
  return impl_->file->source();
}

const BodyNode* Body::node() const {
  return impl_->native;
}

const JsonNode* Body::json() const {
  return impl_->json;
}

const std::shared_ptr<const Iteration>& Body::iteration() const {
  return impl_->iteration;
}

bool Body::hides_attribute(std::string_view name) const {
  return impl_->hides_attribute(name);
}

bool Body::hides_block(std::string_view type) const {
  return impl_->hides_block(type);
}

const BlockSchema& Wanted::dynamic_schema() {
  static const BlockSchema schema{"dynamic", {"type"}};
  return schema;
}

bool Wanted::has_attribute(std::string_view name) const {
  for (const AttributeSchema& attribute : schema_.attributes)
    if (attribute.name == name) return true;
  return expanding_ != nullptr && expanding_->hides_attribute(name);
}

const BlockSchema* Wanted::block(std::string_view type) const {
  const BlockSchema* found = nullptr;
  each_block([&](const BlockSchema& candidate) {
    if (candidate.type == type) found = &candidate;
  });
  return found;
}

std::vector<std::string_view> Wanted::attribute_names() const {
  std::vector<std::string_view> out;
  for (const AttributeSchema& attribute : schema_.attributes)
    out.push_back(attribute.name);
  if (expanding_ != nullptr)
    out.insert(out.end(), expanding_->hidden_attributes.begin(),
               expanding_->hidden_attributes.end());
  return out;
}

std::vector<std::string_view> Wanted::block_types() const {
  std::vector<std::string_view> out;
  each_block([&](const BlockSchema& block) { out.push_back(block.type); });
  return out;
}

Span Body::missing_item_span() const {
  return BodyReader{*impl_}.missing_item();
}

void BodyReader::error(Diagnostics& out, Span span, std::string summary, std::string detail) const {
  out.push_back(error_at(source_, span, std::move(summary), std::move(detail)));
}

Body BodyReader::child(const Body::Impl& parent, const BodyNode* native, const JsonNode* json) {
  auto impl = std::make_shared<Body::Impl>();
  impl->file = parent.file;
  impl->native = native;
  impl->json = json;
  return Body{std::shared_ptr<const Body::Impl>{std::move(impl)}};
}

Span BodyReader::missing_item() const {
  if (body_.native != nullptr) return {body_.native->span.begin, body_.native->span.begin};
  switch (body_.json->kind) {
    case JsonNode::Kind::object:
      return body_.json->close;
    case JsonNode::Kind::array:
      return body_.json->open;
    default:
      return body_.json->start();
  }
}

std::shared_ptr<Body::Impl> BodyReader::take(Body body) {
  std::shared_ptr<const Body::Impl> impl = std::move(body.impl_);
  if (impl.use_count() == 1) return std::const_pointer_cast<Body::Impl>(std::move(impl));
  return std::make_shared<Body::Impl>(*impl);
}

BodyContent BodyReader::content(const Wanted& wanted) const {
  if (body_.native != nullptr) {
    BodyContent out = native_partial(wanted);
    native_leftovers(wanted, out);
    return out;
  }
  std::vector<std::string> used;
  BodyContent out = json_partial(wanted, &used);
  json_leftovers(wanted, used, out.diagnostics);
  return out;
}

BodyContent BodyReader::partial(const Wanted& wanted, std::vector<std::string>* used) const {
  return body_.native != nullptr ? native_partial(wanted) : json_partial(wanted, used);
}

BodyContent BodyReader::native_partial(const Wanted& wanted) const {
  BodyContent out;
  out.attributes.reserve(std::min(wanted.attributes().size(), body_.native->attributes.size()));
  for (const AttributeSchema& schema : wanted.attributes()) {
    const AttributeNode* attribute
        = hides_attribute(schema.name) ? nullptr : find_attribute(*body_.native, schema.name);
    if (attribute != nullptr)
      out.attributes.push_back(
          {attribute->name, attribute->expr, attribute->span, attribute->name_span, nullptr});
    else if (schema.required)
      error(out.diagnostics, missing_item(), "Missing required argument",
            "The argument " + quote(schema.name) + " is required, but no definition was found.");
  }
  native_blocks(wanted, out);
  return out;
}

void BodyReader::native_blocks(const Wanted& wanted, BodyContent& out) const {
  out.blocks.reserve(body_.native->blocks.size());
  for (const BlockNode* block : body_.native->blocks) {
    if (hides_block(block->type)) continue;
    const BlockSchema* schema = wanted.block(block->type);
    if (schema == nullptr || !check_labels(*block, *schema, out.diagnostics)) continue;
    Block& found = out.blocks.emplace_back();
    found.type = block->type;
    found.labels.assign(block->labels.begin(), block->labels.end());
    found.body = child(body_, block->body, nullptr);
    found.definition_span = block->definition();
    found.type_span = block->type_span;
    found.label_spans.assign(block->label_spans.begin(), block->label_spans.end());
  }
}

bool BodyReader::check_labels(const BlockNode& block,
                              const BlockSchema& schema,
                              Diagnostics& out) const {
  const std::size_t wanted = schema.label_names.size();
  if (block.labels.size() == wanted) return true;
  const std::string type{block.type};
  if (block.labels.size() > wanted) {
    const std::string detail = wanted == 0 ? "No labels are expected for " + type + " blocks."
                                           : "Only " + std::to_string(wanted) + " labels ("
                                                 + join(schema.label_names, ", ")
                                                 + ") are expected for " + type + " blocks.";
    error(out, block.label_spans[wanted], "Extraneous label for " + type, detail);
    return false;
  }
  error(out, block.open_brace,
        "Missing " + std::string{schema.label_names[block.labels.size()]} + " for " + type,
        "All " + type + " blocks must have " + std::to_string(wanted) + " labels ("
            + join(schema.label_names, ", ") + ").");
  return false;
}

/// Complains about what is neither wanted nor known from an earlier reading.
void BodyReader::native_leftovers(const Wanted& wanted, BodyContent& out) const {
  for (const AttributeNode& attribute : body_.native->attributes)
    if (!hides_attribute(attribute.name) && !wanted.has_attribute(attribute.name))
      unsupported_attribute(attribute, wanted, out.diagnostics);
  for (const BlockNode* block : body_.native->blocks)
    if (!hides_block(block->type) && wanted.block(block->type) == nullptr)
      unsupported_block(*block, wanted, out.diagnostics);
}

void BodyReader::unsupported_attribute(const AttributeNode& attribute,
                                       const Wanted& wanted,
                                       Diagnostics& out) const {
  std::vector<std::string_view> unused;
  for (const std::string_view candidate : wanted.attribute_names())
    if (find_attribute(*body_.native, candidate) == nullptr || hides_attribute(candidate))
      unused.push_back(candidate);
  const std::string_view near = name_suggestion(attribute.name, unused);
  std::string hint = did_you_mean(near);
  if (near.empty() && wanted.block(attribute.name) != nullptr)
    hint = " Did you mean to define a block of type " + quote(attribute.name) + "?";
  error(out, attribute.name_span, "Unsupported argument",
        "An argument named " + quote(attribute.name) + " is not expected here." + hint);
  suggest(out, near);
}

void BodyReader::unsupported_block(const BlockNode& block,
                                   const Wanted& wanted,
                                   Diagnostics& out) const {
  const std::string_view near = name_suggestion(block.type, wanted.block_types());
  std::string hint = did_you_mean(near);
  if (near.empty() && wanted.has_attribute(block.type))
    hint = " Did you mean to define argument " + quote(block.type)
           + "? If so, use the equals sign to assign it a value.";
  error(out, block.type_span, "Unsupported block type",
        "Blocks of type " + quote(block.type) + " are not expected here." + hint);
  suggest(out, near);
}

JustAttributes BodyReader::just_attributes() const {
  JustAttributes out;
  if (body_.native != nullptr) {
    if (!body_.native->blocks.empty() && !body_.expands) {
      const BlockNode& example = *body_.native->blocks.front();
      error(out.diagnostics, example.type_span, "Unexpected " + quote(example.type) + " block",
            "Blocks are not allowed here.");
    }
    for (const AttributeNode& attribute : body_.native->attributes)
      if (!body_.hides_attribute(attribute.name))
        out.attributes.push_back(
            {attribute.name, attribute.expr, attribute.span, attribute.name_span, body_.iteration});
    return out;
  }
  if (body_.json->kind != JsonNode::Kind::object) {
    error(out.diagnostics, body_.json->start(), "Incorrect JSON value type",
          "A JSON object is required here, setting the arguments for this block.");
    return out;
  }
  for (const JsonProperty& property : body_.json->properties) {
    if (property.name == "//" || body_.hides_attribute(property.name)) continue;
    const auto existing = std::find_if(out.attributes.begin(), out.attributes.end(),
                                       [&](const Attribute& a) { return a.name == property.name; });
    if (existing != out.attributes.end()) {
      error(out.diagnostics, property.name_span, "Duplicate attribute definition",
            "The argument " + quote(property.name) + " was already set at "
                + existing->range().to_string() + ".");
      continue;
    }
    out.attributes.push_back(json_attribute(property));
    out.attributes.back().iteration = body_.iteration;
  }
  return out;
}

}  // namespace nomad::hcl
