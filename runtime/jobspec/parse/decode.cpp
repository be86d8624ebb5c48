#include "runtime/jobspec/parse/decode.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/hcl/value/convert.hpp"
#include "runtime/jobspec/parse/decode_value.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using hcl::Block;
using hcl::Body;
using hcl::BodyContent;
using hcl::BodySchema;
using hcl::Diagnostic;
using hcl::Diagnostics;

/// Blocks in one job, so that nested `dynamic` blocks cannot multiply without end.
constexpr std::size_t max_blocks = 200'000;

/// The schema of a block type, names sorted, as suggestions are looked for in that order.
BodySchema make_schema(const BlockType& type) {
  BodySchema schema;
  for (const Field& field : type.fields) {
    if (field.hcl.empty() || field.has(Trait::label)) continue;
    if (field.is_attribute()) {
      schema.attributes.push_back({field.hcl, false});
      continue;
    }
    hcl::BlockSchema block{field.hcl, {}};
    if (field.block != nullptr)
      for (const Field& inner : field.block->fields)
        if (inner.has(Trait::label)) block.label_names.push_back(inner.hcl);
    schema.blocks.push_back(std::move(block));
  }
  std::sort(schema.attributes.begin(), schema.attributes.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::sort(schema.blocks.begin(), schema.blocks.end(),
            [](const auto& a, const auto& b) { return a.type < b.type; });
  return schema;
}

void add_schemas(const BlockType& type, std::map<const BlockType*, BodySchema>& out) {
  if (!out.emplace(&type, make_schema(type)).second) return;
  for (const Field& field : type.fields)
    if (field.block != nullptr) add_schemas(*field.block, out);
}

/// Every block type that is reached from jobs.
const BodySchema& schema_of(const BlockType& type) {
  static const auto schemas = [] {
    std::map<const BlockType*, BodySchema> all;
    add_schemas(block_types().job, all);
    return all;
  }();
  return schemas.at(&type);
}

const Field* label_field(const BlockType& type) {
  for (const Field& field : type.fields)
    if (field.has(Trait::label)) return &field;
  return nullptr;
}

/// The attributes with a short form each, after the plain ones; all have text values but the
/// weight and distinct_hosts.
constexpr std::string_view constraint_names[]
    = {"attribute",        "value",   "operator",  "distinct_property", "distinct_hosts",
       "regexp",           "version", "semver",    "set_contains",      "set_contains_all",
       "set_contains_any", "is_set",  "is_not_set"};
constexpr std::string_view affinity_names[]
    = {"attribute", "value",  "operator",     "weight",           "version",
       "semver",    "regexp", "set_contains", "set_contains_all", "set_contains_any"};

BodySchema attributes_schema(std::span<const std::string_view> names) {
  BodySchema schema;
  for (const std::string_view name : names)
    schema.attributes.push_back({name, false});
  return schema;
}

class Decoder {
public:
  Decoder(const hcl::EvalContext& context, DecodedJob& out, bool is_hcl1)
      : context_{context}, out_{out}, is_hcl1_{is_hcl1} {}

  void decode_job_block(const Block& block) {
    const Body body = block.body.expanded(&context_);
    object& job = out_.job;
    NamedMap meta = decode_as_attribute(body, "meta");
    hcl::PartialContent extra = meta.rest.partial_content(
        {{}, {hcl::BlockSchema{"vault", {}}, hcl::BlockSchema{"task", {"name"}}}});
    report(std::move(extra.content.diagnostics));
    decode_extras(extra.content);
    decode_plain(extra.remain, types_.job, job);
    if (meta.map) job["Meta"] = std::move(*meta.map);
    if (!block.labels.empty()) {
      for (const std::string_view name : {"Name", "ID"})
        tree::set_default(job, name, std::string_view{block.labels.front()});
    }
    add_bare_tasks(job);
  }

private:
  void report(Diagnostics&& more) { hcl::append(out_.diagnostics, std::move(more)); }

  void report(Diagnostic diagnostic) { out_.diagnostics.push_back(std::move(diagnostic)); }

  bool within_limit(const Block& block) {
    if (++blocks_ <= max_blocks) return true;
    if (blocks_ == max_blocks + 1)
      report(hcl::error_at(block.source(), block.definition_span, "Too many blocks",
                           fmt::format("A job may have at most {} blocks.", max_blocks)));
    return false;
  }

  // ---- whole blocks

  void decode(const Body& body, const BlockType& type, object& out) {
    switch (type.decoding) {
      case Decoding::constraint:
        return decode_constraint(body, out);
      case Decoding::affinity:
        return decode_affinity(body, out);
      case Decoding::group:
        return decode_group(body, out);
      case Decoding::task:
        return decode_task(body, out);
      case Decoding::plain:
      case Decoding::job:
        return decode_plain(body, type, out);
    }
  }

  void decode_labeled(const Block& block, const BlockType& type, object& out) {
    if (!within_limit(block)) return;
    decode(block.body, type, out);
    if (const Field* field = label_field(type); field != nullptr && !block.labels.empty())
      out[field->json] = block.labels.front();
  }

  void decode_plain(const Body& body, const BlockType& type, object& out) {
    BodyContent content = body.content(schema_of(type));
    report(std::move(content.diagnostics));
    for (const Field& field : type.fields) {
      if (field.hcl.empty() || field.has(Trait::label)) continue;
      if (field.is_attribute()) {
        if (const hcl::Attribute* attribute = content.find(field.hcl))
          decode_attribute(*attribute, field, out);
      }
    }
    if (content.blocks.empty()) return;
    std::vector<const Block*> found;
    for (const Field& field : type.fields) {
      if (field.is_attribute() || field.hcl.empty()) continue;
      found.clear();
      for (const Block& block : content.blocks)
        if (block.type == field.hcl) found.push_back(&block);
      if (!found.empty()) decode_blocks(found, field, out);
    }
  }

  void decode_blocks(const std::vector<const Block*>& blocks, const Field& field, object& out) {
    const Block& first = *blocks.front();
    const bool is_map = field.kind == Kind::free_map || field.kind == Kind::text_map
                        || field.kind == Kind::texts_map;
    const bool many
        = field.kind == Kind::blocks || field.kind == Kind::block_map || (is_hcl1_ && is_map);
    if (blocks.size() > 1 && !many) {
      report(hcl::error_at(blocks[1]->source(), blocks[1]->definition_span,
                           fmt::format("Duplicate {} block", field.hcl),
                           fmt::format("Only one {} block is allowed. Another was defined at {}.",
                                       field.hcl, first.definition().to_string())));
      return;
    }
    switch (field.kind) {
      case Kind::block: {
        object decoded;
        decode_labeled(first, *field.block, decoded);
        out[field.json] = std::move(decoded);
        return;
      }
      case Kind::blocks: {
        array list;
        list.reserve(blocks.size());
        for (const Block* block : blocks) {
          object decoded;
          decode_labeled(*block, *field.block, decoded);
          list.push_back(std::move(decoded));
        }
        out[field.json] = std::move(list);
        return;
      }
      case Kind::block_map: {
        object entries;
        for (const Block* block : blocks) {
          object decoded;
          decode_labeled(*block, *field.block, decoded);
          if (!block->labels.empty()) entries[block->labels.front()] = std::move(decoded);
        }
        out[field.json] = std::move(entries);
        return;
      }
      case Kind::free_map:
      case Kind::text_map:
      case Kind::texts_map: {
        object entries;
        for (const Block* block : blocks)
          for (auto& entry : field.kind == Kind::free_map ? decode_free(block->body)
                                                          : decode_map(block->body, field.kind))
            entries[entry.key()] = std::move(entry.value());
        out[field.json] = std::move(entries);
        return;
      }
      case Kind::text:
      case Kind::boolean:
      case Kind::integer:
      case Kind::int64:
      case Kind::int8:
      case Kind::uint8:
      case Kind::uint64:
      case Kind::duration:
      case Kind::texts:
      case Kind::bytes:
        return;
    }
  }

  // ---- attributes and maps

  void decode_attribute(const hcl::Attribute& attribute, const Field& field, object& out) {
    hcl::Evaluated evaluated = attribute.evaluate(&context_);
    report(std::move(evaluated.diagnostics));
    const bool nullable = field.has(Trait::nullable);
    DecodedValue decoded = decode_value(typed(evaluated.value, field.kind), field.kind, nullable);
    if (!decoded.ok())
      report(hcl::error_at(attribute.source(), hcl::start_span(*attribute.expr),
                           "Unsuitable value type", std::move(decoded.error)));
    else if (!decoded.json.is_null())
      out[field.json] = std::move(decoded.json);
  }

  hcl::Value typed(const hcl::Value& value, Kind kind) const {
    return is_hcl1_ ? weakly_typed(value, kind) : value;
  }

  object decode_map(const Body& body, Kind kind) {
    const hcl::IterationScope scope{body.iteration().get(), &context_};
    const Kind element = kind == Kind::texts_map ? Kind::texts : Kind::text;
    object out;
    for (const FreeAttribute& attribute : free_attributes(body, out_.diagnostics)) {
      hcl::Evaluated evaluated = evaluate_free(attribute, scope.context());
      report(std::move(evaluated.diagnostics));
      DecodedValue decoded = decode_value(typed(evaluated.value, element), element, false);
      if (!decoded.ok())
        report(hcl::error_at(attribute.file().source(), attribute.start(), "Unsuitable value type",
                             std::move(decoded.error)));
      else
        out[attribute.name] = std::move(decoded.json);
    }
    return out;
  }

  object decode_free(const Body& body) {
    const hcl::IterationScope scope{body.iteration().get(), &context_};
    object out;
    for (const FreeAttribute& attribute : free_attributes(body, out_.diagnostics)) {
      hcl::Evaluated evaluated = evaluate_free(attribute, scope.context());
      hcl::append(out_.free_diagnostics, std::move(evaluated.diagnostics));
      DecodedValue decoded = decode_free_value(evaluated.value);
      if (!decoded.ok())
        out_.free_diagnostics.push_back(hcl::error_at(attribute.file().source(), attribute.start(),
                                                      "unsuitable value type",
                                                      std::move(decoded.error)));
      else if (!decoded.json.is_null())
        out[attribute.name] = std::move(decoded.json);
    }
    return out;
  }

  /// A map that may be written as an attribute, so that its keys need not be names.
  struct NamedMap {
    std::optional<value> map;
    Body rest;
  };

  NamedMap decode_as_attribute(const Body& body, std::string_view name) {
    hcl::PartialContent found = body.partial_content({{{name, false}}, {}});
    const hcl::Attribute* attribute = found.content.find(name);
    if (attribute == nullptr || hcl::has_errors(found.content.diagnostics))
      return {std::nullopt, body};
    report(std::move(found.content.diagnostics));
    const hcl::PartialContent blocks
        = found.remain.partial_content({{}, {hcl::BlockSchema{name, {}}}});
    if (!blocks.content.blocks.empty()) {
      const Block& block = blocks.content.blocks.front();
      report(hcl::error_at(
          block.source(), block.definition_span, fmt::format("Duplicate {} block", name),
          fmt::format("{} may not be defined more than once. Another definition is defined at {}.",
                      name, attribute->range().to_string())));
      return {std::nullopt, found.remain};
    }
    hcl::Evaluated evaluated = attribute->evaluate(&context_);
    report(std::move(evaluated.diagnostics));
    DecodedValue decoded = decode_value(evaluated.value, Kind::text_map, true);
    if (!decoded.ok())
      report(hcl::error_at(attribute->source(), hcl::start_span(*attribute->expr),
                           "Unsuitable value type", std::move(decoded.error)));
    if (decoded.json.is_null()) return {std::nullopt, found.remain};
    return {std::move(decoded.json), found.remain};
  }

  // ---- constraints and affinities

  /// The values of a body of attributes only; nothing when there was a mistake.
  std::optional<std::map<std::string_view, hcl::Value>> evaluate_attributes(
      const Body& body, std::span<const std::string_view> names) {
    BodyContent content = body.content(attributes_schema(names));
    const std::size_t before = out_.diagnostics.size();
    report(std::move(content.diagnostics));
    std::map<std::string_view, hcl::Value> values;
    for (const hcl::Attribute& attribute : content.attributes) {
      hcl::Evaluated evaluated = attribute.evaluate(&context_);
      report(std::move(evaluated.diagnostics));
      const hcl::Type type = attribute.name == "weight"           ? hcl::Type::number()
                             : attribute.name == "distinct_hosts" ? hcl::Type::boolean()
                                                                  : hcl::Type::string();
      hcl::Converted converted = hcl::convert(
          type == hcl::Type::string() ? typed(evaluated.value, Kind::text) : evaluated.value, type);
      if (const auto* error = std::get_if<hcl::ConversionError>(&converted))
        report(hcl::error_at(attribute.source(), attribute.expr->span,
                             "Incorrect attribute value type",
                             fmt::format("Inappropriate value for attribute {}: {}.",
                                         quote(attribute.name), error->message)));
      else if (std::get<hcl::Value>(converted).is_known())
        values.emplace(attribute.name, std::get<hcl::Value>(std::move(converted)));
    }
    if (out_.diagnostics.size() > before) return std::nullopt;
    return values;
  }

  using Values = std::map<std::string_view, hcl::Value>;

  static std::string_view text_in(const Values& values, std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string_view{} : found->second.as_string();
  }

  static void fill_operands(const Values& values,
                            std::span<const std::string_view> short_forms,
                            object& out) {
    out["LTarget"] = text_in(values, "attribute");
    out["RTarget"] = text_in(values, "value");
    out["Operand"] = text_in(values, "operator");
    for (const std::string_view name : short_forms) {
      if (text_in(values, name).empty()) continue;
      out["Operand"] = name;
      out["RTarget"] = text_in(values, name);
    }
  }

  void decode_constraint(const Body& body, object& out) {
    const auto values = evaluate_attributes(body, constraint_names);
    if (!values) return;
    constexpr std::string_view short_forms[] = {"version", "semver", "regexp", "set_contains"};
    fill_operands(*values, short_forms, out);
    if (const auto hosts = values->find("distinct_hosts"); hosts != values->end()) {
      out["Operand"] = "distinct_hosts";
      if (!is_hcl1_) out["RTarget"] = hosts->second.as_bool() ? "true" : "false";
    }
    if (const std::string_view property = text_in(*values, "distinct_property");
        !property.empty()) {
      out["Operand"] = "distinct_property";
      out["LTarget"] = property;
    }
    tree::set_default_text(out, "Operand", "=");
  }

  void decode_affinity(const Body& body, object& out) {
    const auto values = evaluate_attributes(body, affinity_names);
    if (!values) return;
    constexpr std::string_view short_forms[]
        = {"version", "semver", "regexp", "set_contains_any", "set_contains_all", "set_contains"};
    fill_operands(*values, short_forms, out);
    if (const auto weight = values->find("weight"); weight != values->end()) {
      // Stored in eight bits without a check of the range.
      const hcl::Number whole = weight->second.as_number().truncated();
      const std::int64_t number = whole.to_int64().value_or(whole.is_negative() ? 0 : -1);
      out["Weight"] = static_cast<std::int8_t>(number);
    }
    tree::set_default_text(out, "Operand", "=");
  }

  // ---- jobs, groups and tasks

  void decode_extras(const BodyContent& content) {
    const Block* vault = nullptr;
    for (const Block& block : content.blocks) {
      if (block.type == "task") {
        object task;
        decode_labeled(block, types_.task, task);
        bare_tasks_.push_back(std::move(task));
      } else if (vault != nullptr) {
        report(hcl::error_at(block.source(), block.definition_span, "Duplicate vault block",
                             fmt::format("Only one block of type \"vault\" is allowed. Previous "
                                         "definition was at {}.",
                                         vault->definition().to_string())));
      } else {
        vault = &block;
        object decoded;
        decode_plain(block.body, types_.vault, decoded);
        normalize_vault(decoded);
        job_vault_ = std::move(decoded);
      }
    }
  }

  void decode_group(const Body& body, object& out) {
    const std::size_t before = out_.diagnostics.size();
    NamedMap meta = decode_as_attribute(body, "meta");
    hcl::PartialContent extra = meta.rest.partial_content({{}, {hcl::BlockSchema{"vault", {}}}});
    report(std::move(extra.content.diagnostics));
    if (out_.diagnostics.size() > before) return;
    std::optional<object> vault;
    for (const Block& block : extra.content.blocks) {
      // Mistakes in here were never reported, and files rely on it.
      DecodedJob unheard;
      object decoded;
      Decoder{context_, unheard, is_hcl1_}.decode_plain(block.body, types_.vault, decoded);
      vault = std::move(decoded);
    }
    decode_plain(extra.remain, types_.group, out);
    if (meta.map) out["Meta"] = std::move(*meta.map);
    if (vault)
      tree::each(out, "Tasks",
                 [&](object& task) { tree::set_default(task, "Vault", object{*vault}); });
    if (object* scaling = tree::child(out, "Scaling")) {
      tree::set_default_text(*scaling, "Type", "horizontal");
      check_group_scaling(*scaling, extra.remain);
    }
  }

  void check_group_scaling(const object& scaling, const Body& group) {
    if (tree::find(scaling, "Max") != nullptr && tree::text(scaling, "Type") == "horizontal")
      return;
    const hcl::PartialContent found
        = group.partial_content({{}, {hcl::BlockSchema{"scaling", {}}}});
    if (found.content.blocks.empty()) return;
    hcl::PartialContent content
        = found.content.blocks.front().body.partial_content({{{"max", true}, {"type", false}}, {}});
    report(std::move(content.content.diagnostics));
    const hcl::Attribute* type = content.content.find("type");
    if (type != nullptr && tree::text(scaling, "Type") != "horizontal")
      report(hcl::error_at(
          type->source(), type->expr->span, "Invalid group scaling type",
          "task group scaling policy had invalid type: " + quote(tree::text(scaling, "Type"))));
  }

  void decode_task(const Body& body, object& out) {
    NamedMap env = decode_as_attribute(body, "env");
    NamedMap meta = decode_as_attribute(env.rest, "meta");
    hcl::PartialContent scaling
        = meta.rest.partial_content({{}, {hcl::BlockSchema{"scaling", {"name"}}}});
    report(std::move(scaling.content.diagnostics));
    decode_task_scaling(scaling.content.blocks, out);
    hcl::PartialContent identities
        = scaling.remain.partial_content({{}, {hcl::BlockSchema{"identity", {}}}});
    report(std::move(identities.content.diagnostics));
    decode_identities(identities.content.blocks, out);
    decode_plain(identities.remain, types_.task, out);
    if (env.map) out["Env"] = std::move(*env.map);
    if (meta.map) out["Meta"] = std::move(*meta.map);
  }

  /// The identity block without a name stands by itself, as in releases that know no other.
  void decode_identities(const std::vector<Block>& blocks, object& out) {
    const Block* own = nullptr;
    array named;
    for (const Block& block : blocks) {
      object identity;
      decode_labeled(block, *types_.task.find("Identity")->block, identity);
      const std::string_view name = tree::text(identity, "Name");
      if (!name.empty() && name != "default") {
        named.push_back(std::move(identity));
        continue;
      }
      if (own != nullptr) {
        report(hcl::error_at(block.source(), block.definition_span, "Duplicate identity block",
                             fmt::format("Only one identity block without a name is allowed. "
                                         "Another was defined at {}.",
                                         own->definition().to_string())));
        return;
      }
      own = &block;
      identity.erase("Name");
      out["Identity"] = std::move(identity);
    }
    if (!named.empty()) out["Identities"] = std::move(named);
  }

  void decode_task_scaling(const std::vector<Block>& blocks, object& out) {
    std::map<std::string, const Block*> seen;
    array policies;
    for (const Block& block : blocks) {
      std::string label = block.labels.front();
      std::transform(label.begin(), label.end(), label.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      if (label != "cpu" && label != "mem") {
        report(hcl::error_at(block.source(), block.label_spans.front(),
                             "Invalid scaling policy name",
                             "scaling policy name must be \"cpu\" or \"mem\""));
        continue;
      }
      if (const auto [first, fresh] = seen.emplace(label, &block); !fresh) {
        report(hcl::error_at(block.source(), block.definition_span,
                             fmt::format("Duplicate scaling \"{}\" block", label),
                             fmt::format("Only one scaling {} block is allowed. Another was "
                                         "defined at {}.",
                                         label, first->second->definition().to_string())));
        continue;
      }
      object policy;
      decode_plain(block.body, types_.scaling, policy);
      const std::string wanted = "vertical_" + label;
      tree::set_default_text(policy, "Type", wanted);
      if (tree::text(policy, "Type") == wanted)
        policies.push_back(std::move(policy));
      else
        report(hcl::error_at(block.source(), block.definition_span, "Invalid scaling policy type",
                             fmt::format("Invalid policy type, expected {} but found {}",
                                         quote(wanted), quote(tree::text(policy, "Type")))));
    }
    if (!policies.empty()) out["ScalingPolicies"] = std::move(policies);
  }

  /// Tasks written directly in the job become groups of their own, before all others.
  void add_bare_tasks(object& job) {
    if (!bare_tasks_.empty()) {
      array groups;
      for (object& task : bare_tasks_) {
        value name = task["Name"];
        groups.push_back(
            object{{"Name", std::move(name)}, {"Tasks", array{value(std::move(task))}}});
      }
      if (array* others = tree::find_list(job, "TaskGroups"))
        for (value& group : *others)
          groups.push_back(std::move(group));
      job["TaskGroups"] = std::move(groups);
    }
    if (!job_vault_) return;
    tree::each(job, "TaskGroups", [&](object& group) {
      tree::each(group, "Tasks",
                 [&](object& task) { tree::set_default(task, "Vault", object{*job_vault_}); });
    });
  }

  const BlockTypes& types_ = block_types();
  const hcl::EvalContext& context_;
  DecodedJob& out_;
  const bool is_hcl1_;
  std::size_t blocks_ = 0;
  std::vector<object> bare_tasks_;
  std::optional<object> job_vault_;
};

}  // namespace

DecodedJob decode_job(const Block& block, const hcl::EvalContext& context, bool is_hcl1) {
  DecodedJob out;
  Decoder{context, out, is_hcl1}.decode_job_block(block);
  normalize(out.job);
  return out;
}

}  // namespace nomad::jobspec
