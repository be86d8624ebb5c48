#include "runtime/object/plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "runtime/base/text.hpp"
#include "runtime/object/annotations.hpp"
#include "runtime/object/json_pieces.hpp"

namespace nomad::object {
namespace {

using Which = capnp::schema::Type::Which;

std::string_view text_of(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

/// A group is none: ours are optional numbers.
bool may_be_malformed(const FieldPlan& field) {
  const auto type = field.field.getType();
  return type.isText() || type.isData() || type.isList()
         || (type.isStruct() && !field.field.getProto().isGroup());
}

std::string name_of(capnp::schema::Field::Reader proto) {
  if (auto given = Annotations{proto}.text(Annotation::json)) return std::string{*given};
  std::string name = proto.getName().cStr();
  name[0] = static_cast<char>(name[0] - 'a' + 'A');  // schema names start in lower case
  return name;
}

std::string struct_name_of(capnp::StructSchema schema) {
  const auto proto = schema.getProto();
  const auto own = text_of(proto.getDisplayName()).substr(proto.getDisplayNamePrefixLength());
  return std::string{Annotations{proto}.text(Annotation::json).value_or(own)};
}

std::uint8_t bits_of(capnp::Type type) {
  switch (type.which()) {
    case Which::BOOL:
      return 1;
    case Which::INT8:
    case Which::UINT8:
      return 8;
    case Which::INT16:
    case Which::UINT16:
    case Which::ENUM:
      return 16;
    case Which::INT32:
    case Which::UINT32:
    case Which::FLOAT32:
      return 32;
    case Which::INT64:
    case Which::UINT64:
    case Which::FLOAT64:
      return 64;
    case Which::VOID:
    case Which::TEXT:
    case Which::DATA:
    case Which::LIST:
    case Which::STRUCT:
    case Which::INTERFACE:
    case Which::ANY_POINTER:
      break;
  }
  return 0;
}

Slot slot_of(capnp::StructSchema::Field field) {
  const auto type = field.getType();
  const bool is_signed = type.isInt8() || type.isInt16() || type.isInt32() || type.isInt64();
  return {field.getProto().getSlot().getOffset(), bits_of(type), is_signed};
}

void place(FieldPlan& plan) {
  const auto proto = plan.field.getProto();
  if (!proto.isGroup()) {
    plan.slot = slot_of(plan.field);
    return;
  }
  const auto group = plan.field.getType().asStruct();
  const auto value = group.getFieldByName("value");
  plan.slot = slot_of(value);
  plan.tag = {group.getProto().getStruct().getDiscriminantOffset(), 16};
  plan.given = value.getProto().getDiscriminantValue();
}

std::string go_type_of(const ValuePlan& plan, const Annotations& notes) {
  const bool of_structs = plan.element != nullptr && plan.element->shape == Shape::object;
  switch (plan.shape) {
    case Shape::boolean:
      return "bool";
    case Shape::signed_number:
      return plan.type.isInt8() ? "int8" : notes.has(Annotation::int64) ? "int64" : "int";
    case Shape::unsigned_number:
      return plan.type.isUInt8() ? "uint8" : "uint64";
    case Shape::real:
      return "float64";
    case Shape::text:
    case Shape::secret_text:
    case Shape::enumeration:
      return "string";
    case Shape::raw_json:
      return "map[string]interface {}";
    case Shape::base64:
      return "[]uint8";
    case Shape::timestamp:
      return "time.Time";
    case Shape::duration:
    case Shape::duration_text:
      return "time.Duration";
    case Shape::object:
      return "api." + plan.fields->name;
    case Shape::list:
      return (of_structs && !notes.has(Annotation::by_value) ? "[]*" : "[]")
             + go_type_of(*plan.element, notes);
    case Shape::map:
      return (of_structs ? "map[string]*" : "map[string]") + go_type_of(*plan.element, notes);
    case Shape::optional:
      return go_type_of(*plan.element, notes);
  }
  return {};
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

}  // namespace

const StructPlan& Planner::plan(capnp::StructSchema schema) {
  auto& slot = structs_[schema.getProto().getId()];
  if (slot == nullptr) {
    slot = std::make_unique<StructPlan>();
    fill(*slot, schema);
  }
  return *slot;
}

void Planner::fill(StructPlan& plan, capnp::StructSchema schema) {
  plan.schema = schema;
  plan.name = struct_name_of(schema);
  const auto layout = schema.getProto().getStruct();
  plan.data_words = plan.stored_data_words = layout.getDataWordCount();
  plan.pointer_count = plan.stored_pointer_count = layout.getPointerCount();
  const bool omit_zero = Annotations{schema.getProto()}.has(Annotation::omit_zero);
  for (auto field : schema.getFields()) {
    auto proto = field.getProto();
    const Annotations notes{proto};
    FieldPlan entry;
    entry.field = field;
    entry.name = name_of(proto);
    entry.quoted_name = ",\"" + entry.name + "\":";
    entry.quoted_name.resize(std::max(entry.quoted_name.size(), JsonPieces::fixed_bytes + 1));
    entry.hidden = notes.has(Annotation::hidden);
    entry.omit_empty = omit_zero || notes.has(Annotation::omit_empty);
    entry.always = notes.has(Annotation::always);
    entry.is_bookkeeping = notes.has(Annotation::bookkeeping);
    entry.value = value_plan(field.getType(), proto);
    entry.go_type = go_type_of(entry.value, notes);
    place(entry);
    plan.fields.push_back(std::move(entry));
  }
  if (is_roomy_) make_room(plan);
  std::sort(plan.fields.begin(), plan.fields.end(),
            [](const FieldPlan& a, const FieldPlan& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < plan.fields.size(); ++i)
    if (!plan.fields[i].is_extension && may_be_malformed(plan.fields[i]))
      plan.pointers.push_back(static_cast<std::uint16_t>(i));
  plan.index();
}

void Planner::make_room(StructPlan& plan) {
  const std::uint16_t marks = plan.data_words;
  extend(plan);
  std::uint64_t mark = 1;
  for (FieldPlan& field : plan.fields) {
    if (field.slot.is_pointer() || field.value.shape == Shape::optional) continue;
    field.mark = mark;
    mark <<= 1U;
  }
  plan.has_marks = mark != 1;
  if (plan.has_marks && plan.data_words == marks) plan.data_words = marks + 1;
}

void Planner::extend(StructPlan& plan) {
  for (const Extension& more : extensions_) {
    if (more.owner != plan.schema.getProto().getId()) continue;
    const auto stored
        = std::find_if(plan.fields.begin(), plan.fields.end(),
                       [&](const FieldPlan& field) { return field.name == more.name; });
    FieldPlan& entry = stored == plan.fields.end() ? plan.fields.emplace_back() : *stored;
    entry.name = more.name;
    entry.is_extension = true;
    entry.value = plain_plan(more.type);
    entry.go_type = go_type_of(entry.value, Annotations{plan.schema.getProto()});
    entry.slot = {plan.pointer_count, bits_of(more.type)};
    if (entry.slot.is_pointer()) {
      ++plan.pointer_count;
      continue;
    }
    if (plan.data_words == plan.stored_data_words) ++plan.data_words;  // the marks' word
    entry.slot.offset = plan.data_words++ * 64U / entry.slot.bits;
  }
}

ValuePlan Planner::value_plan(capnp::Type type, capnp::schema::Field::Reader proto) {
  const Annotations notes{proto};
  if (proto.isGroup()) return optional_plan(type, proto);
  if (notes.has(Annotation::map)) return map_plan(type);
  if (notes.has(Annotation::time)) return {Shape::timestamp, type};
  if (notes.has(Annotation::duration)) return {Shape::duration, type};
  if (notes.has(Annotation::duration_text)) return {Shape::duration_text, type};
  if (notes.has(Annotation::raw)) return {Shape::raw_json, type};
  if (notes.has(Annotation::secret)) return {Shape::secret_text, type};
  return plain_plan(type);
}

ValuePlan Planner::plain_plan(capnp::Type type) {
  switch (type.which()) {
    case Which::BOOL:
      return {Shape::boolean, type};
    case Which::INT8:
    case Which::INT16:
    case Which::INT32:
    case Which::INT64:
      return {Shape::signed_number, type};
    case Which::UINT8:
    case Which::UINT16:
    case Which::UINT32:
    case Which::UINT64:
      return {Shape::unsigned_number, type};
    case Which::FLOAT32:
    case Which::FLOAT64:
      return {Shape::real, type};
    case Which::TEXT:
      return {Shape::text, type};
    case Which::DATA:
      return {Shape::base64, type};
    case Which::ENUM: {
      auto& names = names_.emplace_back();
      for (const auto enumerant : type.asEnum().getEnumerants())
        names.push_back(json_name(enumerant));
      return {Shape::enumeration, type, nullptr, nullptr, &names};
    }
    case Which::STRUCT:
      return {Shape::object, type, &plan(type.asStruct())};
    case Which::LIST: {
      values_.push_back(plain_plan(type.asList().getElementType()));
      return {Shape::list, type, nullptr, &values_.back()};
    }
    case Which::VOID:
    case Which::INTERFACE:
    case Which::ANY_POINTER:
      break;
  }
  return {Shape::raw_json, type};  // no schema of ours has such a field; see the codec's tests
}

ValuePlan Planner::map_plan(capnp::Type type) {
  const auto entry = type.asList().getElementType().asStruct();
  const auto& fields = plan(entry);  // before the push: it adds values of its own
  values_.push_back(plain_plan(entry.getFieldByName("value").getType()));
  return {Shape::map, type, &fields, &values_.back()};
}

ValuePlan Planner::optional_plan(capnp::Type type, capnp::schema::Field::Reader proto) {
  const auto content = type.asStruct().getFieldByName("value").getType();
  const bool is_duration = Annotations{proto}.has(Annotation::duration);
  values_.push_back(is_duration ? ValuePlan{Shape::duration, content} : plain_plan(content));
  return {Shape::optional, type, nullptr, &values_.back()};
}

void StructPlan::index() {
  if (fields.size() > most_fields) std::abort();  // every test would see it
  behind_pointers.assign(stored_pointer_count, nullptr);
  for (const FieldPlan& field : fields)
    if (field.slot.is_pointer() && !field.is_extension)
      behind_pointers[field.slot.offset] = &field.value;
  table_.assign(std::bit_ceil(2 * fields.size() + 1), {});
  const std::size_t last = table_.size() - 1;
  for (std::uint32_t i = 0; i < fields.size(); ++i) {
    const std::uint32_t hash = fold_hash(fields[i].name);
    std::size_t at = hash & last;
    for (; table_[at].position != 0; at = (at + 1) & last)
      if (table_[at].hash == hash) std::abort();
    table_[at] = {hash, i + 1};
  }
}

const FieldPlan* StructPlan::find(std::string_view name) const {
  const std::uint32_t hash = fold_hash(name);
  const std::size_t last = table_.size() - 1;
  for (std::size_t at = hash & last; table_[at].position != 0; at = (at + 1) & last) {
    if (table_[at].hash != hash) continue;
    const FieldPlan& field = fields[table_[at].position - 1];
    return field.name == name || same_letters(field.name, name) ? &field : nullptr;
  }
  return nullptr;
}

const FieldPlan& StructPlan::at(FieldName name) const {
  if (name.known != nullptr) return *name.known;
  const std::size_t last = table_.size() - 1;
  std::size_t at = name.hash & last;
  while (table_[at].hash != name.hash && table_[at].position != 0)
    at = (at + 1) & last;
  if (table_[at].position == 0) std::abort();
  return fields[table_[at].position - 1];
}

const StructPlan& plan_of(capnp::StructSchema schema) {
  static std::mutex guard;
  static Planner planner;
  const std::lock_guard lock{guard};
  return planner.plan(schema);
}

std::string_view json_name(capnp::EnumSchema::Enumerant enumerant) {
  auto proto = enumerant.getProto();
  if (const auto given = Annotations{proto}.text(Annotation::json)) return *given;
  auto name = proto.getName();
  return {name.begin(), name.size()};
}

}  // namespace nomad::object
