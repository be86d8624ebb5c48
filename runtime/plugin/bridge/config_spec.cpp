#include "runtime/plugin/bridge/config_spec.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/eval/type_expression.hpp"
#include "runtime/hcl/functions/functions.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "runtime/hcl/value/convert.hpp"
#include "runtime/plugin/bridge/shown.hpp"
#include "runtime/plugin/bridge/values.hpp"

namespace nomad::plugin::bridge {
namespace {

using boost::json::array;
using boost::json::object;
using hclspec::Spec;
using Entries = hcl::Value::Entries;

constexpr unsigned deepest = 32;       // of the tree; the agent bounds blocks itself
constexpr unsigned most_items = 1000;  // of the tree
constexpr std::size_t most_text_shown = 100;

Error wrong(std::string why) {
  return {Errc::invalid_argument, "failed to parse config: " + std::move(why)};
}

Error nonsense(std::string why) {
  return {Errc::rejected, std::move(why)};
}

Result<hcl::Type> read_type(const std::string& text) {
  if (text.empty()) return hcl::Type::dynamic();
  const auto parsed = hcl::parse_expression("type", text);
  if (parsed.ok() && parsed.file->expression() != nullptr) {
    const auto type = hcl::parse_type(*parsed.file->expression(), true);
    if (!hcl::has_errors(type.diagnostics)) return type.type;
  }
  return nonsense(fmt::format("\"{}\" is no type", shown(text, most_text_shown)));
}

Result<hcl::Value> read_literal(const std::string& text) {
  const auto parsed = hcl::parse_expression("literal", text);
  if (parsed.ok() && parsed.file->expression() != nullptr) {
    const auto functions = hcl::job_functions({});
    hcl::EvalContext context;
    context.functions = &functions;
    const auto evaluated = hcl::evaluate(*parsed.file->expression(), &context);
    if (evaluated.ok()) return evaluated.value;
  }
  return nonsense(fmt::format("\"{}\" is no value", shown(text, most_text_shown)));
}

// -- what the agent is told -----------------------------------------------------------------------

class FieldFinder {
public:
  Result<> find(const Spec& spec, const std::string& implied, bool may_miss, unsigned depth) {
    if (++items_ > most_items || depth > deepest)
      return nonsense("it is too large, or nested too deeply");
    switch (spec.block_case()) {
      case Spec::kObject: {
        for (const auto& [name, each] : ordered(spec.object()))
          if (auto found = find(*each, name, may_miss, depth + 1); !found) return found;
        return {};
      }
      case Spec::kArray:
        for (const auto& each : spec.array().values())
          if (auto found = find(each, {}, may_miss, depth + 1); !found) return found;
        return {};
      case Spec::kAttr:
        return attribute(spec.attr(), implied, may_miss);
      case Spec::kBlockValue:
        return block(spec.block_value(), ConfigKind::BLOCK,
                     spec.block_value().required() && !may_miss, implied, depth);
      case Spec::kBlockAttrs: {
        if (auto type = read_type(spec.block_attrs().type()); !type) return type.error();
        return add({.name = named(spec.block_attrs().name(), implied),
                    .kind = ConfigKind::ANY,
                    .required = spec.block_attrs().required() && !may_miss});
      }
      case Spec::kBlockList:
        return block(spec.block_list(), ConfigKind::BLOCKS,
                     spec.block_list().min_items() > 0 && !may_miss, implied, depth);
      case Spec::kBlockSet:
        return block(spec.block_set(), ConfigKind::BLOCKS,
                     spec.block_set().min_items() > 0 && !may_miss, implied, depth);
      case Spec::kBlockMap: {
        FieldFinder inner{items_};
        if (auto found = inner.find(spec.block_map().nested(), {}, false, depth + 1); !found)
          return found;
        return add({.name = named(spec.block_map().name(), implied), .kind = ConfigKind::ANY});
      }
      case Spec::kDefault: {
        if (auto found = find(spec.default_().primary(), implied, true, depth + 1); !found)
          return found;
        return find(spec.default_().default_(), implied, true, depth + 1);
      }
      case Spec::kLiteral: {
        const auto value = read_literal(spec.literal().value());
        return value ? Result<>{} : value.error();
      }
      case Spec::BLOCK_NOT_SET:
        break;
    }
    return nonsense("a part of it says nothing");
  }

  std::vector<ConfigField> take() { return std::move(fields_); }

  explicit FieldFinder(unsigned& items) : items_{items} {}

  static std::map<std::string, const Spec*> ordered(const hclspec::Object& object) {
    std::map<std::string, const Spec*> parts;
    for (const auto& [name, each] : object.attributes())
      parts[name] = &each;
    return parts;
  }

  static std::string named(const std::string& name, const std::string& implied) {
    return name.empty() ? implied : name;
  }

private:
  Result<> attribute(const hclspec::Attr& from, const std::string& implied, bool may_miss) {
    const auto type = read_type(from.type());
    if (!type) return type.error();
    auto kind = ConfigKind::ANY;
    if (*type == hcl::Type::string()) kind = ConfigKind::TEXT;
    if (*type == hcl::Type::boolean()) kind = ConfigKind::BOOLEAN;
    if (*type == hcl::Type::list(hcl::Type::string())) kind = ConfigKind::TEXTS;
    if (*type == hcl::Type::map(hcl::Type::string())) kind = ConfigKind::MAP;
    return add({.name = named(from.name(), implied),
                .kind = kind,
                .required = from.required() && !may_miss});
  }

  template <class Block>
  Result<> block(const Block& from,
                 ConfigKind kind,
                 bool required,
                 const std::string& implied,
                 unsigned depth) {
    FieldFinder inner{items_};
    if (auto found = inner.find(from.nested(), {}, false, depth + 1); !found) return found;
    return add({.name = named(from.name(), implied),
                .kind = kind,
                .required = required,
                .fields = inner.take()});
  }

  /// Two parts may read the same name: a value and what stands for it where it is not there.
  Result<> add(ConfigField field) {
    if (field.name.empty()) return nonsense("a part of it has no name");
    const auto known = std::ranges::find(fields_, field.name, &ConfigField::name);
    if (known == fields_.end()) {
      fields_.push_back(std::move(field));
    } else {
      known->required = known->required || field.required;
      if (known->kind != field.kind) known->kind = ConfigKind::ANY;
    }
    return {};
  }

  unsigned& items_;
  std::vector<ConfigField> fields_;
};

// -- what the plugin gets -------------------------------------------------------------------------

Result<hcl::Value> decode_body(const Spec& spec,
                               const std::string& implied,
                               const object& body,
                               const std::string& where);

const boost::json::value* given(const object& body, const std::string& name) {
  const auto* const value = body.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<hcl::Value> converted(const hcl::Value& value,
                             const hcl::Type& type,
                             const std::string& name) {
  auto outcome = hcl::convert(value, type);
  if (auto* const made = std::get_if<hcl::Value>(&outcome)) return std::move(*made);
  const auto& error = std::get<hcl::ConversionError>(outcome);
  return wrong(fmt::format("{}{}: {}", name, error.path, error.message));
}

Result<hcl::Value> decode_attribute(const hclspec::Attr& spec,
                                    const std::string& name,
                                    const object& body,
                                    const std::string& where) {
  const auto type = read_type(spec.type());
  if (!type) return type.error();
  const auto* const value = given(body, name);
  if (value == nullptr && spec.required())
    return wrong(fmt::format("missing required argument \"{}{}\"", where, name));
  if (value == nullptr) return hcl::Value::null(*type);
  auto made = value_of(*value);
  // A block is an object, where there is one of it.
  if ((type->kind() == hcl::Type::Kind::list || type->kind() == hcl::Type::Kind::set)
      && made.is_mapping())
    made = hcl::Value::tuple({std::move(made)});
  return converted(made, *type, where + name);
}

/// The objects of the blocks of one name.
Result<std::vector<const object*>> blocks_of(const object& body,
                                             const std::string& name,
                                             const std::string& where) {
  std::vector<const object*> blocks;
  const auto* const value = given(body, name);
  if (value == nullptr) return blocks;
  const auto add = [&](const boost::json::value& each) {
    if (each.is_object()) blocks.push_back(&each.get_object());
    return each.is_object();
  };
  bool is_right = true;
  if (const auto* const list = value->if_array())
    for (const auto& each : *list)
      is_right = is_right && add(each);
  else
    is_right = add(*value);
  if (!is_right) return wrong(fmt::format("{}{}: expected a block", where, name));
  return blocks;
}

Result<const object*> one_block(const object& body,
                                const std::string& name,
                                bool required,
                                const std::string& where) {
  auto blocks = blocks_of(body, name, where);
  if (!blocks) return blocks.error();
  if (blocks->size() > 1) return wrong(fmt::format("{}{}: only one block is allowed", where, name));
  if (blocks->empty() && required)
    return wrong(fmt::format("missing required block \"{}{}\"", where, name));
  return blocks->empty() ? nullptr : blocks->front();
}

template <class Block>
Result<hcl::Value> decode_blocks(const Block& spec,
                                 const std::string& name,
                                 const object& body,
                                 const std::string& where) {
  const auto blocks = blocks_of(body, name, where);
  if (!blocks) return blocks.error();
  if (blocks->size() < spec.min_items())
    return wrong(
        fmt::format("{}{}: at least {} blocks are required", where, name, spec.min_items()));
  if (spec.max_items() > 0 && blocks->size() > spec.max_items())
    return wrong(
        fmt::format("{}{}: no more than {} blocks are allowed", where, name, spec.max_items()));
  hcl::Value::Elements elements;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    auto made
        = decode_body(spec.nested(), {}, *(*blocks)[i], fmt::format("{}{}[{}].", where, name, i));
    if (!made) return made.error();
    elements.push_back(std::move(*made));
  }
  return hcl::Value::tuple(std::move(elements));
}

Result<hcl::Value> decode_block_attributes(const hclspec::BlockAttrs& spec,
                                           const std::string& name,
                                           const object& body,
                                           const std::string& where) {
  const auto block = one_block(body, name, spec.required(), where);
  if (!block) return block.error();
  const auto type = read_type(spec.type());
  if (!type) return type.error();
  if (*block == nullptr) return hcl::Value::null(hcl::Type::map(*type));
  return converted(value_of(**block), hcl::Type::map(*type), where + name);
}

/// A level of labels: objects under them, however HCL has put them together.
Result<hcl::Value> decode_labels(const hclspec::BlockMap& spec,
                                 const boost::json::value& value,
                                 int labels,
                                 const std::string& where) {
  array one;
  const auto* list = value.if_array();
  if (list == nullptr) {
    one.push_back(value);
    list = &one;
  }
  if (labels == 0) {
    if (list->size() != 1) return wrong(where + ": only one block is allowed");
    if (!list->front().is_object()) return wrong(where + ": expected a block");
    return decode_body(spec.nested(), {}, list->front().get_object(), where + '.');
  }
  // Blocks of the same first label may differ in the next one.
  std::map<std::string, array> under;
  for (const auto& each : *list) {
    if (!each.is_object()) return wrong(where + ": expected a block with a label");
    for (const auto& member : each.get_object()) {
      auto& blocks = under[std::string{member.key()}];
      if (const auto* const several = member.value().if_array())
        blocks.insert(blocks.end(), several->begin(), several->end());
      else
        blocks.push_back(member.value());
    }
  }
  Entries entries;
  for (const auto& [label, blocks] : under) {
    auto made = decode_labels(spec, blocks, labels - 1, fmt::format("{}[\"{}\"]", where, label));
    if (!made) return made.error();
    entries.emplace_back(label, std::move(*made));
  }
  return hcl::Value::object(std::move(entries));
}

Result<hcl::Value> decode_object(const hclspec::Object& spec,
                                 const object& body,
                                 const std::string& where) {
  Entries entries;
  for (const auto& [name, each] : FieldFinder::ordered(spec)) {
    auto made = decode_body(*each, name, body, where);
    if (!made) return made.error();
    entries.emplace_back(name, std::move(*made));
  }
  return hcl::Value::object(std::move(entries));
}

Result<hcl::Value> decode_default(const hclspec::Default& spec,
                                  const std::string& implied,
                                  const object& body,
                                  const std::string& where) {
  auto made = decode_body(spec.primary(), implied, body, where);
  if (!made || !made->is_null()) return made;
  return decode_body(spec.default_(), implied, body, where);
}

Result<hcl::Value> decode_body(const Spec& spec,
                               const std::string& implied,
                               const object& body,
                               const std::string& where) {
  const auto named
      = [&implied](const std::string& name) { return FieldFinder::named(name, implied); };
  switch (spec.block_case()) {
    case Spec::kObject:
      return decode_object(spec.object(), body, where);
    case Spec::kArray: {
      hcl::Value::Elements elements;
      for (const auto& each : spec.array().values()) {
        auto made = decode_body(each, {}, body, where);
        if (!made) return made;
        elements.push_back(std::move(*made));
      }
      return hcl::Value::tuple(std::move(elements));
    }
    case Spec::kAttr:
      return decode_attribute(spec.attr(), named(spec.attr().name()), body, where);
    case Spec::kBlockValue: {
      const auto name = named(spec.block_value().name());
      const auto block = one_block(body, name, spec.block_value().required(), where);
      if (!block) return block.error();
      if (*block == nullptr) return hcl::Value::null();
      return decode_body(spec.block_value().nested(), {}, **block, where + name + '.');
    }
    case Spec::kBlockAttrs:
      return decode_block_attributes(spec.block_attrs(), named(spec.block_attrs().name()), body,
                                     where);
    case Spec::kBlockList:
      return decode_blocks(spec.block_list(), named(spec.block_list().name()), body, where);
    case Spec::kBlockSet:
      return decode_blocks(spec.block_set(), named(spec.block_set().name()), body, where);
    case Spec::kBlockMap: {
      const auto name = named(spec.block_map().name());
      const auto* const value = given(body, name);
      if (value == nullptr) return hcl::Value::object({});
      return decode_labels(spec.block_map(), *value, spec.block_map().labels_size(), where + name);
    }
    case Spec::kDefault:
      return decode_default(spec.default_(), implied, body, where);
    case Spec::kLiteral:
      return read_literal(spec.literal().value());
    case Spec::BLOCK_NOT_SET:
      break;
  }
  return hcl::Value::null();
}

}  // namespace

Result<ConfigSpec> ConfigSpec::read(std::string_view what, const Spec& spec) {
  ConfigSpec made;
  made.spec_ = spec;
  if (spec.block_case() == Spec::BLOCK_NOT_SET) {  // It has no configuration.
    made.spec_.mutable_object();
    return made;
  }
  const auto within = [what](const Error& err) {
    return err.within(fmt::format("the schema of {} makes no sense", what));
  };
  if (spec.block_case() != Spec::kObject) return within(nonsense("it is no object"));
  unsigned items = 0;
  FieldFinder finder{items};
  if (auto found = finder.find(spec, {}, false, 0); !found) return within(found.error());
  made.fields_ = finder.take();
  return made;
}

Result<hcl::Value> ConfigSpec::decode(const object& config) const {
  return decode_body(spec_, {}, config, {});
}

}  // namespace nomad::plugin::bridge
