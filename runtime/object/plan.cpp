#include "runtime/object/plan.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/base/text.hpp"
#include "runtime/object/annotations.hpp"

namespace nomad::object {
namespace {

using Which = capnp::schema::Type::Which;

/// Makes and keeps all plans. Schemas do not recurse, so neither do plans without end.
class Planner {
public:
  const StructPlan& plan(capnp::StructSchema schema) {
    auto& slot = structs_[schema.getProto().getId()];
    if (slot == nullptr) {
      slot = std::make_unique<StructPlan>();
      fill(*slot, schema);
    }
    return *slot;
  }

private:
  void fill(StructPlan& plan, capnp::StructSchema schema) {
    plan.schema = schema;
    const bool omit_zero = Annotations{schema.getProto()}.has(Annotation::omit_zero);
    for (auto field : schema.getFields()) {
      auto proto = field.getProto();
      const Annotations notes{proto};
      FieldPlan entry{.field = field, .name = name_of(proto), .quoted_name = {}, .value = {}};
      entry.quoted_name = '"' + entry.name + "\":";
      entry.hidden = notes.has(Annotation::hidden);
      entry.omit_empty = omit_zero || notes.has(Annotation::omit_empty);
      entry.always = notes.has(Annotation::always);
      entry.value = value_plan(field.getType(), proto);
      plan.fields.push_back(std::move(entry));
    }
    std::sort(plan.fields.begin(), plan.fields.end(),
              [](const FieldPlan& a, const FieldPlan& b) { return a.name < b.name; });
    for (std::size_t i = 0; i < plan.fields.size(); ++i) {
      plan.by_folded.push_back(static_cast<std::uint16_t>(i));
      if (is_pointer(plan.fields[i].field)) plan.pointers.push_back(static_cast<std::uint16_t>(i));
    }
    std::sort(plan.by_folded.begin(), plan.by_folded.end(), [&plan](auto a, auto b) {
      return to_lower(plan.fields[a].name) < to_lower(plan.fields[b].name);
    });
  }

  /// A group is none: ours are optional numbers.
  static bool is_pointer(capnp::StructSchema::Field field) {
    const auto type = field.getType();
    return type.isText() || type.isData() || type.isList()
           || (type.isStruct() && !field.getProto().isGroup());
  }

  static std::string name_of(capnp::schema::Field::Reader proto) {
    if (auto given = Annotations{proto}.text(Annotation::json)) return std::string{*given};
    std::string name = proto.getName().cStr();
    name[0] = static_cast<char>(name[0] - 'a' + 'A');  // schema names start in lower case
    return name;
  }

  ValuePlan value_plan(capnp::Type type, capnp::schema::Field::Reader proto) {
    const Annotations notes{proto};
    if (proto.isGroup()) return optional_plan(type, notes);
    if (notes.has(Annotation::map)) return map_plan(type);
    if (notes.has(Annotation::time)) return {Shape::timestamp, type};
    if (notes.has(Annotation::duration)) return {Shape::duration, type};
    if (notes.has(Annotation::raw)) return {Shape::raw_json, type};
    if (notes.has(Annotation::secret)) return {Shape::secret_text, type};
    return plain_plan(type);
  }

  ValuePlan plain_plan(capnp::Type type) {
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
      case Which::ENUM:
        return {Shape::enumeration, type};
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

  ValuePlan map_plan(capnp::Type type) {
    const auto entry = type.asList().getElementType().asStruct();
    const auto& fields = plan(entry);  // before the push: it adds values of its own
    values_.push_back(plain_plan(entry.getFieldByName("value").getType()));
    return {Shape::map, type, &fields, &values_.back()};
  }

  ValuePlan optional_plan(capnp::Type type, const Annotations& notes) {
    const auto content = type.asStruct().getFieldByName("value").getType();
    values_.push_back(notes.has(Annotation::duration) ? ValuePlan{Shape::duration, content}
                                                      : plain_plan(content));
    return {Shape::optional, type, nullptr, &values_.back()};
  }

  std::map<std::uint64_t, std::unique_ptr<StructPlan>> structs_;
  std::deque<ValuePlan> values_;  // stay where they are
};

}  // namespace

const FieldPlan* StructPlan::find(std::string_view name) const {
  const auto exact = std::lower_bound(
      fields.begin(), fields.end(), name,
      [](const FieldPlan& field, std::string_view wanted) { return field.name < wanted; });
  if (exact != fields.end() && exact->name == name) return &*exact;
  const auto folded = to_lower(name);
  const auto near = std::lower_bound(by_folded.begin(), by_folded.end(), folded,
                                     [this](auto place, const std::string& wanted) {
                                       return to_lower(fields[place].name) < wanted;
                                     });
  if (near != by_folded.end() && to_lower(fields[*near].name) == folded) return &fields[*near];
  return nullptr;
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
