// From the annotations of the schema to the blocks of jobs.
//
// What annotations can't say stands here, in three short tables: blocks that are decoded in a way
// of their own, JSON texts whose content has a schema (an annotation can't name a type), and fields
// that only requests have (the stored struct must not have room for them).
#include "runtime/jobspec/schema.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/json/value.hpp>
#include <capnp/schema.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/annotations.hpp"
#include "runtime/object/plan.hpp"
#include "schema/job.capnp.h"
#include "schema/unstored.capnp.h"

namespace nomad::jobspec {

namespace {

using boost::json::value;
using capnp::StructSchema;
using nomad::object::Annotation;
using nomad::object::Annotations;
using nomad::object::Shape;

template <class T>
std::uint64_t id_of() {
  return capnp::Schema::from<T>().getProto().getId();
}

/// Blocks whose job files say more than a list of attributes and blocks.
const std::map<std::uint64_t, Decoding>& decodings() {
  static const std::map<std::uint64_t, Decoding> all{
      {id_of<schema::Job>(), Decoding::job},
      {id_of<schema::TaskGroup>(), Decoding::group},
      {id_of<schema::Task>(), Decoding::task},
      {id_of<schema::Constraint>(), Decoding::constraint},
      {id_of<schema::Affinity>(), Decoding::affinity},
  };
  return all;
}

/// What is stored as JSON text although it has fields that we know.
std::vector<nomad::object::Extension> contents() {
  return {
      {id_of<schema::Service>(), "Connect", capnp::Schema::from<schema::ConsulConnect>()},
      {id_of<schema::Job>(), "Multiregion", capnp::Schema::from<schema::Multiregion>()},
  };
}

struct RequestField {
  nomad::object::Extension field;
  std::string_view after;  ///< The field that it follows in Nomad's API.
  std::string_view hcl;
  Support support;
  std::string_view note{};
};

/// What requests have besides, and canonicalization merges into other fields.
const std::vector<RequestField>& request_fields() {
  using Which = capnp::schema::Type::Which;
  static const std::vector<RequestField> all{
      {{id_of<schema::ServiceCheck>(), "Advertise", Which::TEXT},
       "AddressMode",
       "advertise",
       Support::partly,
       "of Consul's checks only"},
      {{id_of<schema::Service>(), "CheckRestart", capnp::Schema::from<schema::CheckRestart>()},
       "Checks",
       "check_restart",
       Support::works},
      {{id_of<schema::ScalingPolicy>(), "Namespace", Which::TEXT}, "ID", "", Support::unsaid},
      {{id_of<schema::LogConfig>(), "Enabled", Which::BOOL},
       "MaxFileSizeMB",
       "enabled",
       Support::works},
      {{id_of<schema::Job>(), "Reschedule", capnp::Schema::from<schema::ReschedulePolicy>()},
       "ParameterizedJob",
       "reschedule",
       Support::works},
      {{id_of<schema::Job>(), "Migrate", capnp::Schema::from<schema::MigrateStrategy>()},
       "Reschedule",
       "migrate",
       Support::works},
  };
  return all;
}

std::vector<nomad::object::Extension> extensions() {
  auto all = contents();
  for (const RequestField& more : request_fields())
    all.push_back(more.field);
  return all;
}

std::string snake_case(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (to_lower(c) != c) out += '_';
    out += to_lower(c);
  }
  return out;
}

/// Makes and keeps all block types. Schemas do not recurse, so neither do types without end.
class Builder {
public:
  template <class T>
  const BlockType& type() {
    return type(capnp::Schema::from<T>());
  }

  const BlockType& type(StructSchema schema) {
    auto& slot = types_[schema.getProto().getId()];
    if (slot == nullptr) {
      auto made = std::make_unique<BlockType>();
      fill(*made, schema);
      slot = std::move(made);
    }
    return *slot;
  }

private:
  void fill(BlockType& type, StructSchema schema) {
    const Annotations notes{schema.getProto()};
    type.plan = &planner_.plan(schema);
    type.name = type.plan->name;
    const std::uint64_t id = schema.getProto().getId();
    if (const auto found = decodings().find(id); found != decodings().end())
      type.decoding = found->second;

    std::vector<const nomad::object::FieldPlan*> plans;
    for (const nomad::object::FieldPlan& plan : type.plan->fields)
      if (plan.field.getContainingStruct() == schema) plans.push_back(&plan);
    std::sort(plans.begin(), plans.end(), [](auto* a, auto* b) {
      return a->field.getProto().getCodeOrder() < b->field.getProto().getCodeOrder();
    });
    const bool nullable_singles = notes.flag(Annotation::nullable, false);
    for (const nomad::object::FieldPlan* plan : plans) {
      type.fields.push_back(field(*plan, nullable_singles));
      for (const RequestField& more : request_fields())
        if (more.field.owner == id && more.after == type.fields.back().json)
          type.fields.push_back(request_field(more, *type.plan, nullable_singles));
    }
    type.has_fallbacks
        = std::any_of(type.fields.begin(), type.fields.end(), [](const Field& field) {
            return field.fallback != nullptr
                   || (field.block != nullptr && field.block->has_fallbacks);
          });
    for (const Field& each : type.fields)
      if (each.support == Support::refused || each.support == Support::unheeded
          || (each.block != nullptr && !each.block->judged.empty()))
        type.judged.push_back(&each);
  }

  Field field(const nomad::object::FieldPlan& plan, bool nullable_singles) {
    const auto proto = plan.field.getProto();
    const Annotations notes{proto};
    Field out;
    out.json = plan.name;
    out.plan = &plan;
    set_kind(out, plan.value, notes);
    if (notes.has(Annotation::label)) out.traits = out.traits | Trait::label;
    if (notes.has(Annotation::by_value)) out.traits = out.traits | Trait::by_value;
    if (notes.has(Annotation::omit_null)) out.traits = out.traits | Trait::optional_key;
    if (notes.has(Annotation::server_only)) out.traits = out.traits | Trait::server_only;
    if (notes.has(Annotation::request_only)) out.traits = out.traits | Trait::api_only;
    if (notes.has(Annotation::bookkeeping)) out.traits = out.traits | Trait::bookkeeping;
    if (!out.is_single() || notes.flag(Annotation::nullable, nullable_singles))
      out.traits = out.traits | Trait::nullable;
    if (const auto name = notes.text(Annotation::hcl))
      out.hcl = *name;
    else if (!out.has(Trait::server_only))
      out.hcl = names_.emplace_back(snake_case(proto.getName().cStr()));
    if (const auto text = notes.text(Annotation::fallback))
      out.fallback = fallback(out.kind, *text);
    set_support(out, notes);
    return out;
  }

  Field request_field(const RequestField& from,
                      const nomad::object::StructPlan& owner,
                      bool nullable_singles) {
    Field out{.json = from.field.name, .hcl = from.hcl, .traits = Trait::api_only};
    out.plan = owner.find(from.field.name);
    set_kind(out, out.plan->value, Annotations{owner.schema.getProto()});
    if (!out.is_single() || nullable_singles) out.traits = out.traits | Trait::nullable;
    out.support = from.support;
    out.note = from.note;
    return out;
  }

  static void set_support(Field& out, const Annotations& notes) {
    if (notes.has(Annotation::works)) out.support = Support::works;
    for (const auto& [annotation, support] : {std::pair{Annotation::partly, Support::partly},
                                              std::pair{Annotation::unheeded, Support::unheeded},
                                              std::pair{Annotation::refused, Support::refused}})
      if (const auto note = notes.text(annotation)) {
        out.support = support;
        out.note = *note;
      }
    if (const auto values = notes.find(Annotation::only))
      for (const auto value : values->getList().getAs<capnp::List<capnp::Text>>())
        out.only.emplace_back(value.begin(), value.size());
  }

  void set_kind(Field& out, const nomad::object::ValuePlan& plan, const Annotations& notes) {
    switch (plan.shape) {
      case Shape::boolean:
        out.kind = Kind::boolean;
        return;
      case Shape::signed_number:
        out.kind = plan.type.isInt8()             ? Kind::int8
                   : notes.has(Annotation::int64) ? Kind::int64
                                                  : Kind::integer;
        return;
      case Shape::unsigned_number:
        out.kind = plan.type.isUInt8() ? Kind::uint8 : Kind::uint64;
        return;
      case Shape::duration:
        out.kind = Kind::duration;
        return;
      case Shape::text:
      case Shape::secret_text:
        out.kind = Kind::text;
        return;
      case Shape::raw_json:
        out.kind = Kind::free_map;
        return;
      case Shape::base64:
        out.kind = Kind::bytes;
        return;
      case Shape::object:
        out.kind = Kind::block;
        out.block = &type(plan.type.asStruct());
        return;
      case Shape::list:
        return set_list(out, *plan.element);
      case Shape::map:
        return set_map(out, *plan.element);
      case Shape::optional:
        set_kind(out, *plan.element, notes);
        out.traits = out.traits | Trait::nullable | Trait::pointer;
        return;
      case Shape::real:
      case Shape::timestamp:
      case Shape::duration_text:
      case Shape::enumeration:
        break;
    }
    std::abort();  // no job has such a field; a schema that gives it one fails every test
  }

  void set_list(Field& out, const nomad::object::ValuePlan& element) {
    out.kind = element.shape == Shape::object ? Kind::blocks : Kind::texts;
    if (element.shape == Shape::object) out.block = &type(element.type.asStruct());
  }

  void set_map(Field& out, const nomad::object::ValuePlan& element) {
    out.kind = element.shape == Shape::object ? Kind::block_map
               : element.shape == Shape::list ? Kind::texts_map
                                              : Kind::text_map;
    if (element.shape == Shape::object) out.block = &type(element.type.asStruct());
  }

  const value* fallback(Kind kind, std::string_view text) {
    if (kind == Kind::text) return &values_.emplace_back(text);
    if (kind == Kind::boolean) return &values_.emplace_back(text == "true");
    std::int64_t number = 0;
    if (kind == Kind::duration)
      number = parse_duration(text).value().count();
    else
      std::from_chars(text.data(), text.data() + text.size(), number);
    return &values_.emplace_back(number);
  }

  nomad::object::Planner planner_{extensions()};
  std::map<std::uint64_t, std::unique_ptr<const BlockType>> types_;
  std::deque<std::string> names_;  // both stay where they are
  std::deque<value> values_;
};

}  // namespace

const Field* BlockType::find(std::string_view json) const {
  for (const Field& field : fields)
    if (field.json == json) return &field;
  return nullptr;
}

const BlockTypes& block_types() {
  static Builder builder;
  static const BlockTypes all{
      .job = builder.type<schema::Job>(),
      .group = builder.type<schema::TaskGroup>(),
      .task = builder.type<schema::Task>(),
      .service = builder.type<schema::Service>(),
      .update = builder.type<schema::UpdateStrategy>(),
      .restart = builder.type<schema::RestartPolicy>(),
      .tmpl = builder.type<schema::Template>(),
      .scaling = builder.type<schema::ScalingPolicy>(),
      .vault = builder.type<schema::Vault>(),
      .connect = builder.type<schema::ConsulConnect>(),
      .multiregion = builder.type<schema::Multiregion>(),
  };
  return all;
}

}  // namespace nomad::jobspec
