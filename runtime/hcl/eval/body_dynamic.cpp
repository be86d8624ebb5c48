// `dynamic` blocks: one block per element of a collection.
//
// An expanded body reads its original anew each time and filters, because a `dynamic` block can
// only be attributed to a type once a schema names that type.
#include <algorithm>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/hcl/eval/body_impl.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* invalid_for_each = "Invalid dynamic for_each value";
constexpr const char* invalid_label = "Invalid dynamic block label";

/// Blocks that may be generated in one file, counted at each reading.
constexpr std::size_t max_generated = 100'000;

std::shared_ptr<const OwnedContext> context_of(const Iteration* iteration,
                                               const EvalContext* outer,
                                               std::shared_ptr<const OwnedContext> owner) {
  auto out = std::make_shared<OwnedContext>();
  out->outer = std::move(owner);
  for (; iteration != nullptr; iteration = iteration->outer.get())
    out->variables.emplace_back(iteration->name, iteration->object);
  out->context.parent = outer;
  out->context.variables = &out->variables;
  return out;
}

/// What a `dynamic` block says.
struct Spec {
  const Block* source = nullptr;
  std::string_view type;
  Value for_each;
  std::string iterator;
  std::vector<const Expression*> labels;
  Body content;
};

class Expander {
public:
  Expander(const Body::Impl& body, const BodySchema& schema) : body_{body}, schema_{schema} {}

  void expand(std::vector<Block> raw, bool partial, BodyContent& out) {
    for (Block& block : raw) {
      if (block.type == "dynamic")
        dynamic(block, partial, out);
      else if (!body_.hides_block(block.type))
        out.blocks.push_back(with_child(std::move(block), body_.iteration));
    }
  }

private:
  /// `block` with a body that expands in turn, inside `iteration`.
  Block with_child(Block block, const std::shared_ptr<const Iteration>& iteration) {
    std::shared_ptr<Body::Impl> impl = BodyReader::take(std::move(block.body));
    impl->expands = true;
    impl->generated = body_.generated;
    impl->iteration = iteration;
    impl->context = body_.context;
    impl->owned = body_.owned;
    if (iteration != nullptr) {
      impl->owned = context_of(iteration.get(), body_.context, body_.owned);
      impl->context = &impl->owned->context;
    }
    block.body = BodyReader::wrap(std::move(impl));
    return block;
  }

  void error(BodyContent& out, Span span, std::string summary, std::string detail) {
    out.diagnostics.push_back(
        error_at(body_.file->source(), span, std::move(summary), std::move(detail)));
  }

  void dynamic(const Block& block, bool partial, BodyContent& out) {
    const std::string& type = block.labels.front();
    if (body_.hides_block(type)) return;
    const auto wanted = std::find_if(schema_.blocks.begin(), schema_.blocks.end(),
                                     [&](const BlockSchema& s) { return s.type == type; });
    if (wanted == schema_.blocks.end()) {
      if (!partial)
        error(out, block.label_spans.front(), "Unsupported block type",
              "Blocks of type " + quote(type) + " are not expected here.");
      return;
    }
    Spec spec;
    spec.source = &block;
    spec.type = wanted->type;
    if (decode(*wanted, spec, out)) generate(spec, out);
  }

  bool decode(const BlockSchema& wanted, Spec& spec, BodyContent& out) {
    BodySchema schema;
    schema.attributes = {{"for_each", true}, {"iterator"}};
    if (!wanted.label_names.empty()) schema.attributes.push_back({"labels", true});
    schema.blocks = {{"content"}};
    BodyContent content = spec.source->body.content(schema);
    const bool readable = !has_errors(content.diagnostics);
    append(out.diagnostics, std::move(content.diagnostics));
    return readable && decode_for_each(*content.find("for_each"), spec, out)
           && decode_iterator(content.find("iterator"), wanted, spec, out)
           && decode_labels(content.find("labels"), wanted, spec, out)
           && decode_content(content, spec, out);
  }

  bool decode_for_each(const Attribute& attribute, Spec& spec, BodyContent& out) {
    if (*body_.generated > max_generated) return false;  // that was told already
    Evaluated value = hcl::evaluate(*attribute.expr, body_.context);
    const bool evaluated = value.ok();
    append(out.diagnostics, std::move(value.diagnostics));
    spec.for_each = std::move(value.value);
    const Type type = spec.for_each.type();
    if (type.is_primitive()) {
      error(out, attribute.expr->span, invalid_for_each,
            "Cannot use a " + type.friendly_name()
                + " value in for_each. An iterable collection is required.");
      return false;
    }
    if (spec.for_each.is_null()) {
      error(out, attribute.expr->span, invalid_for_each, "Cannot use a null value in for_each.");
      return false;
    }
    *body_.generated += spec.for_each.size();
    if (*body_.generated > max_generated) {
      error(out, attribute.expr->span, invalid_for_each,
            "Dynamic blocks can generate at most " + std::to_string(max_generated)
                + " blocks in one file.");
      return false;
    }
    return evaluated;
  }

  bool decode_iterator(const Attribute* attribute,
                       const BlockSchema& wanted,
                       Spec& spec,
                       BodyContent& out) {
    spec.iterator = wanted.type;
    if (attribute == nullptr) return true;
    const std::string name = static_keyword(*attribute->expr);
    if (!name.empty()) {
      spec.iterator = name;
      return true;
    }
    if (static_traversal(*attribute->expr).empty())
      error(out, attribute->expr->span, "Invalid expression",
            "A single static variable reference is required: only attribute access and indexing "
            "with constant keys. "
            "No calculations, function calls, template expressions, etc are allowed here.");
    else
      error(out, attribute->expr->span, "Invalid dynamic iterator name",
            "Dynamic iterator must be a single variable name.");
    return false;
  }

  bool decode_labels(const Attribute* attribute,
                     const BlockSchema& wanted,
                     Spec& spec,
                     BodyContent& out) {
    if (attribute == nullptr) return true;
    if (!is_static_list(*attribute->expr)) {
      error(out, start_span(*attribute->expr), "Invalid expression",
            "A static list expression is required.");
      return false;
    }
    spec.labels = static_list(*attribute->expr);
    const std::size_t count = wanted.label_names.size();
    if (spec.labels.size() == count) return true;
    const bool many = spec.labels.size() > count;
    error(out, many ? spec.labels[count]->span : attribute->expr->span,
          many ? "Extraneous dynamic block label" : "Insufficient dynamic block labels",
          "Blocks of type " + quote(wanted.type) + " require " + std::to_string(count)
              + " label(s).");
    return false;
  }

  bool decode_content(const BodyContent& content, Spec& spec, BodyContent& out) {
    if (content.blocks.empty()) {
      error(out, spec.source->body.missing_item_span(), "Missing dynamic content block",
            "A dynamic block must have a nested block of type \"content\" to describe the body of "
            "each generated "
            "block.");
      return false;
    }
    if (content.blocks.size() > 1) {
      error(out, content.blocks[1].definition_span, "Extraneous dynamic content block",
            "Only one nested content block is allowed for each dynamic block.");
      return false;
    }
    spec.content = content.blocks.front().body;
    return true;
  }

  void generate(const Spec& spec, BodyContent& out) {
    if (spec.for_each.is_mapping()) {
      for (const auto& [key, value] : spec.for_each.entries())
        generate_one(spec, Value::string(key), value, out);
      return;
    }
    if (!spec.for_each.is_sequence()) return;
    std::int64_t index = 0;
    for (const Value& value : spec.for_each.elements()) {
      const bool set = spec.for_each.kind() == Type::Kind::set;
      generate_one(spec, set ? value : Value::number(index), value, out);
      ++index;
    }
  }

  void generate_one(const Spec& spec, Value key, Value value, BodyContent& out) {
    Value::Entries entries;
    entries.emplace_back("key", std::move(key));
    entries.emplace_back("value", std::move(value));
    const auto iteration = std::make_shared<const Iteration>(
        Iteration{spec.iterator, Value::object(std::move(entries)), body_.iteration});
    Block block;
    block.type = spec.type;
    block.type_span = spec.source->label_spans.front();
    block.definition_span = spec.source->definition_span;
    block.body = spec.content;
    const auto scope = context_of(iteration.get(), body_.context, nullptr);
    for (const Expression* label : spec.labels)
      if (!evaluate_label(*label, scope->context, block, out)) return;
    out.blocks.push_back(with_child(std::move(block), iteration));
  }

  bool evaluate_label(const Expression& label,
                      const EvalContext& context,
                      Block& block,
                      BodyContent& out) {
    Evaluated value = hcl::evaluate(label, &context);
    const bool evaluated = value.ok();
    append(out.diagnostics, std::move(value.diagnostics));
    if (!evaluated) return false;
    const Converted text = convert(value.value, Type::string());
    std::string wrong;
    if (const auto* failure = std::get_if<ConversionError>(&text))
      wrong = "Cannot use this value as a dynamic block label: " + failure->message + ".";
    else if (std::get<Value>(text).is_null())
      wrong = "Cannot use a null value as a dynamic block label.";
    else if (std::get<Value>(text).is_unknown())
      wrong = "This value is not yet known. Dynamic block labels must be immediately-known values.";
    if (!wrong.empty()) {
      error(out, label.span, invalid_label, std::move(wrong));
      return false;
    }
    block.labels.emplace_back(std::get<Value>(text).as_string());
    block.label_spans.push_back(label.span);
    return true;
  }

  const Body::Impl& body_;
  const BodySchema& schema_;
};

BodyContent expanded_content(const Body::Impl& body, const BodySchema& schema, bool partial) {
  const BodyReader reader{body, true};
  const Wanted wanted{schema, &body};
  BodyContent out = partial ? reader.partial(wanted, nullptr) : reader.content(wanted);
  std::erase_if(out.attributes,
                [&](const Attribute& found) { return body.hides_attribute(found.name); });
  if (body.iteration != nullptr)
    for (Attribute& attribute : out.attributes)
      attribute.iteration = body.iteration;
  std::vector<Block> raw = std::exchange(out.blocks, {});
  out.blocks.reserve(raw.size());
  Expander{body, schema}.expand(std::move(raw), partial, out);
  return out;
}

}  // namespace

Body Body::expanded(const EvalContext* context) const {
  auto impl = std::make_shared<Impl>(*impl_);
  impl->expands = true;
  impl->generated = std::make_shared<std::size_t>(0);
  impl->context = context;
  return Body{std::shared_ptr<const Impl>{std::move(impl)}};
}

BodyContent Body::content(const BodySchema& schema) const {
  return impl_->expands ? expanded_content(*impl_, schema, false)
                        : BodyReader{*impl_}.content(Wanted{schema});
}

PartialContent Body::partial_content(const BodySchema& schema) const {
  auto remain = std::make_shared<Impl>(*impl_);
  PartialContent out;
  if (impl_->expands || impl_->native != nullptr) {
    out.content = impl_->expands ? expanded_content(*impl_, schema, true)
                                 : BodyReader{*impl_}.partial(Wanted{schema}, nullptr);
    for (const AttributeSchema& attribute : schema.attributes)
      if (impl_->expands || out.content.find(attribute.name) != nullptr)
        remain->hidden_attributes.emplace_back(attribute.name);
    remain->hidden_blocks.insert(remain->hidden_blocks.end(), schema.blocks.begin(),
                                 schema.blocks.end());
  } else {
    out.content = BodyReader{*impl_}.partial(Wanted{schema}, &remain->hidden_attributes);
  }
  out.remain = Body{std::shared_ptr<const Impl>{std::move(remain)}};
  return out;
}

JustAttributes Body::just_attributes() const {
  return BodyReader{*impl_}.just_attributes();
}

}  // namespace nomad::hcl
