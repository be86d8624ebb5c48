#include "runtime/object/meaning.hpp"

#include <algorithm>

#include "runtime/object/flat_json.hpp"

namespace nomad::object {

namespace {

using Struct = capnp::AnyStruct::Reader;
using Pointer = capnp::AnyPointer::Reader;
using Structs = capnp::List<capnp::AnyStruct>;

/// 0 where the stored struct ends sooner.
std::uint64_t scalar_at(Slot slot, Struct of) {
  const auto data = of.getDataSection();
  if ((std::size_t{slot.offset} + 1) * slot.bits > data.size() * 8) return 0;
  return load(data.begin(), slot);
}

Pointer pointer_at(Slot slot, Struct of) {
  const auto pointers = of.getPointerSection();
  return slot.offset < pointers.size() ? pointers[slot.offset] : Pointer{};
}

template <class Any>
std::uint32_t size_of_list(Any pointer) {
  return pointer.isNull() ? 0 : pointer.template getAs<capnp::AnyList>().size();
}

/// A JSON object as text.
bool is_empty_json(capnp::Text::Reader text) {
  return text.size() == 0 || text == "{}";
}

bool same_value(const JsonNode& a, const JsonNode& b, EmptyMember empty);

bool same_members(const JsonNode& a, const JsonNode& b, EmptyMember empty) {
  const auto counted = [empty](const JsonNode& object) {
    auto keys = sorted_keys(object);
    if (empty == EmptyMember::is_absent)
      std::erase_if(keys, [](const JsonNode* key) {
        const auto& value = key[1];
        const bool is_list = value.is(JsonKind::array) || value.is(JsonKind::object);
        return value.is(JsonKind::null) || (is_list && value.size == 0);
      });
    return keys;
  };
  return std::ranges::equal(
      counted(a), counted(b), [empty](const JsonNode* left, const JsonNode* right) {
        return left->text() == right->text() && same_value(left[1], right[1], empty);
      });
}

bool same_value(const JsonNode& a, const JsonNode& b, EmptyMember empty) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case JsonKind::null:
      return true;
    case JsonKind::boolean:
      return a.boolean == b.boolean;
    case JsonKind::integer:
      return a.integer == b.integer;
    case JsonKind::natural:
      return a.natural == b.natural;
    case JsonKind::real:
      return a.real == b.real;
    case JsonKind::text:
      return a.text() == b.text();
    case JsonKind::object:
      return same_members(a, b, empty);
    case JsonKind::array:
      break;
  }
  if (a.size != b.size) return false;
  auto other = b.elements().begin();
  for (const JsonNode& element : a.elements()) {
    if (!same_value(element, *other, empty)) return false;
    ++other;
  }
  return true;
}

const StructPlan* plan_of_elements(const ValuePlan& value) {
  return value.shape == Shape::map ? value.fields : value.element->fields;
}

bool same_list(const ValuePlan& value, Pointer a, Pointer b) {
  const auto size = size_of_list(a);
  if (size != size_of_list(b)) return false;
  if (size == 0) return true;
  const auto left = a.getAs<capnp::AnyList>();
  const auto right = b.getAs<capnp::AnyList>();
  const StructPlan* fields = plan_of_elements(value);
  if (fields == nullptr) return left == right;
  for (std::uint32_t i = 0; i < size; ++i)
    if (!same_meaning(*fields, left.as<Structs>()[i], right.as<Structs>()[i])) return false;
  return true;
}

bool same_behind(const ValuePlan& value, Pointer a, Pointer b) {
  switch (value.shape) {
    case Shape::text:
    case Shape::secret_text:
      return a.getAs<capnp::Text>() == b.getAs<capnp::Text>();
    case Shape::raw_json: {
      const auto left = a.getAs<capnp::Text>();
      const auto right = b.getAs<capnp::Text>();
      return (is_empty_json(left) && is_empty_json(right))
             || same_json({left.begin(), left.size()}, {right.begin(), right.size()},
                          EmptyMember::counts);
    }
    case Shape::base64:
      return a.getAs<capnp::Data>() == b.getAs<capnp::Data>();
    case Shape::object:
      return same_meaning(*value.fields, a.getAs<capnp::AnyStruct>(), b.getAs<capnp::AnyStruct>());
    default:
      return same_list(value, a, b);
  }
}

void drop_empty_behind(capnp::AnyPointer::Builder pointer, const ValuePlan& value) {
  bool is_empty = false;
  switch (value.shape) {
    case Shape::text:
    case Shape::secret_text:
      is_empty = pointer.getAs<capnp::Text>().size() == 0;
      break;
    case Shape::raw_json:
      is_empty = is_empty_json(pointer.getAs<capnp::Text>().asReader());
      break;
    case Shape::base64:
      is_empty = pointer.getAs<capnp::Data>().size() == 0;
      break;
    case Shape::object:
      return drop_empty(pointer.getAs<capnp::AnyStruct>(), *value.fields);
    default: {
      is_empty = size_of_list(pointer) == 0;
      const StructPlan* fields = plan_of_elements(value);
      if (is_empty || fields == nullptr) break;
      for (auto element : pointer.getAs<capnp::AnyList>().as<Structs>())
        drop_empty(element, *fields);
    }
  }
  if (is_empty) pointer.clear();
}

}  // namespace

bool same_json(std::string_view a, std::string_view b, EmptyMember empty) {
  if (a == b) return true;
  const auto left = FlatJson::read(a);
  const auto right = FlatJson::read(b);
  return left && right && same_value(left->root(), right->root(), empty);
}

Struct struct_at(Slot slot, Struct of) {
  return pointer_at(slot, of).getAs<capnp::AnyStruct>();
}

bool same_field(const FieldPlan& field, Struct a, Struct b) {
  if (field.slot.is_pointer())
    return same_behind(field.value, pointer_at(field.slot, a), pointer_at(field.slot, b));
  if (field.value.shape == Shape::optional) {
    const bool is_given = scalar_at(field.tag, a) == field.given;
    if (is_given != (scalar_at(field.tag, b) == field.given)) return false;
    if (!is_given) return true;
  }
  return scalar_at(field.slot, a) == scalar_at(field.slot, b);
}

bool same_meaning(const StructPlan& plan, Struct a, Struct b) {
  return std::all_of(plan.fields.begin(), plan.fields.end(), [&](const FieldPlan& field) {
    return field.is_bookkeeping || same_field(field, a, b);
  });
}

void drop_empty(capnp::AnyStruct::Builder of, const StructPlan& plan) {
  auto pointers = of.getPointerSection();
  for (const FieldPlan& field : plan.fields) {
    if (!field.slot.is_pointer() || field.is_extension || field.slot.offset >= pointers.size())
      continue;
    auto pointer = pointers[field.slot.offset];
    if (!pointer.isNull()) drop_empty_behind(pointer, field.value);
  }
}

}  // namespace nomad::object
