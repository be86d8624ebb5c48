#include "runtime/query/filter_value.hpp"

#include "runtime/base/name_table.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::query {
namespace {

using object::FieldPlan;
using object::Shape;
using object::ValuePlan;
using Kind = Value::Kind;

Value make(Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}

Value make_text(std::string_view text) {
  auto value = make(Kind::text);
  value.text = text;
  return value;
}

Value make_object(capnp::DynamicStruct::Reader object) {
  auto value = make(Kind::object);
  value.object = object;
  return value;
}

Value make_opaque(std::uint64_t size) {
  auto value = make(Kind::opaque);
  value.unsigned_number = size;
  return value;
}

Value value_of(const capnp::DynamicValue::Reader& source, const ValuePlan& plan);

/// A union of `unset` and `value`, which the API shows as null or the value.
Value optional_of(capnp::DynamicStruct::Reader group, const ValuePlan& plan) {
  KJ_IF_MAYBE (member, group.which())
    if (member->getProto().getName() != "unset") return value_of(group.get(*member), *plan.element);
  return make(Kind::none);
}

Value enum_of(capnp::DynamicEnum value) {
  KJ_IF_MAYBE (enumerant, value.getEnumerant()) return make_text(object::json_name(*enumerant));
  return make_text("");
}

Value value_of(const capnp::DynamicValue::Reader& source, const ValuePlan& plan) {
  Value value;
  value.plan = &plan;
  switch (plan.shape) {
    case Shape::boolean:
      value.kind = Kind::boolean;
      value.boolean = source.as<bool>();
      break;
    case Shape::signed_number:
    case Shape::duration:
    case Shape::duration_text:
      value.kind = Kind::signed_number;
      value.signed_number = source.as<std::int64_t>();
      break;
    case Shape::unsigned_number:
      value.kind = Kind::unsigned_number;
      value.unsigned_number = source.as<std::uint64_t>();
      break;
    case Shape::real:
      value.kind = Kind::real;
      value.real = source.as<double>();
      break;
    case Shape::text:
    case Shape::secret_text: {
      const auto text = source.as<capnp::Text>();
      return make_text({text.begin(), text.size()});
    }
    case Shape::raw_json: {
      const auto text = source.as<capnp::Text>();
      value = make_opaque(text.size());
      value.text = {text.begin(), text.size()};
      value.is_raw = true;
      return value;
    }
    case Shape::base64:
      return make_opaque(source.as<capnp::Data>().size());
    case Shape::timestamp:
      return make_opaque(source.as<std::int64_t>() == 0 ? 0 : 1);
    case Shape::enumeration:
      return enum_of(source.as<capnp::DynamicEnum>());
    case Shape::object:
      return make_object(source.as<capnp::DynamicStruct>());
    case Shape::list:
    case Shape::map:
      value.kind = plan.shape == Shape::list ? Kind::list : Kind::map;
      value.list = source.as<capnp::DynamicList>();
      break;
    case Shape::optional:
      return optional_of(source.as<capnp::DynamicStruct>(), plan);
  }
  return value;
}

Value value_of(const boost::json::value& source) {
  Value value;
  switch (source.kind()) {
    case boost::json::kind::null:
      break;
    case boost::json::kind::bool_:
      value.kind = Kind::boolean;
      value.boolean = source.get_bool();
      break;
    case boost::json::kind::int64:
      value.kind = Kind::signed_number;
      value.signed_number = source.get_int64();
      break;
    case boost::json::kind::uint64:
      value.kind = Kind::unsigned_number;
      value.unsigned_number = source.get_uint64();
      break;
    case boost::json::kind::double_:
      value.kind = Kind::real;
      value.real = source.get_double();
      break;
    case boost::json::kind::string: {
      const auto& text = source.get_string();
      return make_text({text.data(), text.size()});
    }
    case boost::json::kind::array:
    case boost::json::kind::object:
      value.kind = source.is_array() ? Kind::list : Kind::map;
      value.json = &source;
      break;
  }
  return value;
}

/// The field that the API calls `name`, if it may be looked at.
const FieldPlan* field_named(const object::StructPlan& plan, std::string_view name) {
  const auto* field = plan.find(name);
  const bool usable = field != nullptr && field->name == name && !field->hidden
                      && field->value.shape != Shape::secret_text;
  return usable ? field : nullptr;
}

Value field_of(capnp::DynamicStruct::Reader object, const FieldPlan& field) {
  if (field.value.shape == Shape::object && !field.always && !object.has(field.field))
    return make(Kind::none);
  return value_of(object.get(field.field), field.value);
}

std::string pointer_text(std::span<const std::string> path) {
  std::string out;
  for (const auto& part : path) {
    out += '/';
    for (const char c : part) {
      if (c == '~')
        out += "~0";
      else if (c == '/')
        out += "~1";
      else
        out += c;
    }
  }
  return out;
}

Error missing(std::string_view problem) {
  return {Errc::invalid_argument, "error finding value in datum: " + std::string{problem}};
}

Result<Value> element_at(const Value& list, std::string_view part) {
  int index = 0;
  if (!read_whole_number(part, index))
    return Error{Errc::invalid_argument,
                 "couldn't convert value \"" + std::string{part} + "\" to type int"};
  if (index < 0 || static_cast<std::size_t>(index) >= list.size())
    return Error{Errc::invalid_argument,
                 "index " + std::to_string(index)
                     + " is out of range (length = " + std::to_string(list.size()) + ')'};
  return list.element(static_cast<unsigned>(index));
}

/// One step from `value`. `not_found` is a missing field or key, `corrupt` a value that has none.
Result<Value> step(const Row& row, const Value& value, const std::string& part) {
  if (value.kind == Kind::root)
    for (const auto& extra : row.extras)
      if (extra.name == part) return make_object(extra.object);
  switch (value.kind) {
    case Kind::root:
    case Kind::object: {
      const auto object = value.kind == Kind::root ? row.object : *value.object;
      const auto* field = field_named(object::plan_of(object.getSchema()), part);
      if (field == nullptr)
        return Error{Errc::not_found, "couldn't find key: struct field with name \"" + part + '"'};
      return field_of(object, *field);
    }
    case Kind::map:
      if (auto entry = value.entry(part)) return *entry;
      return Error{Errc::not_found, "couldn't find key \"" + part + '"'};
    case Kind::list:
      return element_at(value, part);
    case Kind::none:
    case Kind::boolean:
    case Kind::signed_number:
    case Kind::unsigned_number:
    case Kind::real:
    case Kind::text:
    case Kind::opaque:
      break;
  }
  return Error{Errc::corrupt, "invalid value kind: " + std::string{value.kind_name()}};
}

}  // namespace

std::size_t Value::size() const {
  if (kind == Kind::text) return text.size();
  if (json != nullptr)
    return json->is_array() ? json->get_array().size() : json->get_object().size();
  if (kind == Kind::list || kind == Kind::map) return list->size();
  return kind == Kind::opaque ? unsigned_number : 0;
}

bool Value::has_size() const {
  return kind == Kind::text || kind == Kind::list || kind == Kind::map || kind == Kind::opaque
         || kind == Kind::none;
}

std::string_view Value::kind_name() const {
  static constexpr std::string_view names[]
      = {"invalid", "bool",  "int64", "uint64",    "float64", "string",
         "struct",  "slice", "map",   "interface", "struct"};
  return name_in(names, kind, "invalid");
}

Value Value::element(unsigned index) const {
  if (json != nullptr) return value_of(json->get_array()[index]);
  if (plan->element->shape == Shape::object)
    return make_object((*list)[index].as<capnp::DynamicStruct>());
  return value_of((*list)[index], *plan->element);
}

std::string_view Value::key(unsigned index) const {
  if (json != nullptr) return std::next(json->get_object().begin(), index)->key();
  const auto text = (*list)[index].as<capnp::DynamicStruct>().get("key").as<capnp::Text>();
  return {text.begin(), text.size()};
}

std::optional<Value> Value::entry(std::string_view wanted) const {
  if (json != nullptr) {
    const auto* found = json->get_object().if_contains(wanted);
    return found != nullptr ? std::optional{value_of(*found)} : std::nullopt;
  }
  unsigned low = 0;
  unsigned high = list->size();
  while (low < high) {
    const unsigned middle = low + (high - low) / 2;
    if (key(middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == list->size() || key(low) != wanted) return std::nullopt;
  return value_of((*list)[low].as<capnp::DynamicStruct>().get("value"), *plan->element);
}

Result<Value> RawTexts::read(const Value& raw, Work& work) {
  static const boost::json::value none = boost::json::object{};
  if (raw.text.empty()) return value_of(none);
  const auto found = read_.find(raw.text.data());
  if (found != read_.end()) return value_of(found->second);
  NOMAD_TRY(work.take(raw.text.size()));
  auto json = parse_json(raw.text);
  if (!json) return raw;
  return value_of(read_.emplace(raw.text.data(), std::move(*json)).first->second);
}

bool read_plain(const Row& row, std::span<const std::string> path, Value& value) {
  if (row.plan == nullptr || path.size() != 1) return false;
  for (const auto& extra : row.extras)
    if (extra.name == path[0]) return false;
  const auto* field = field_named(*row.plan, path[0]);
  if (field == nullptr) return false;
  const auto& slot = field->slot;
  switch (field->value.shape) {
    case Shape::boolean:
      value.kind = Kind::boolean;
      value.boolean = row.fields.scalar(slot) != 0;
      return true;
    case Shape::signed_number:
    case Shape::duration:
    case Shape::duration_text:
      value.kind = Kind::signed_number;
      value.signed_number = static_cast<std::int64_t>(row.fields.scalar(slot));
      return true;
    case Shape::unsigned_number:
      value.kind = Kind::unsigned_number;
      value.unsigned_number = row.fields.scalar(slot);
      return true;
    case Shape::text:
      value.kind = Kind::text;
      value.text = row.fields.pointer(slot).text();
      return true;
    case Shape::enumeration: {
      const auto& names = *field->value.names;
      const auto number = row.fields.scalar(slot);
      value.kind = Kind::text;
      value.text = number < names.size() ? names[number] : std::string_view{};
      return true;
    }
    default:
      return false;
  }
}

Result<std::optional<Value>> find_value(const Row& row,
                                        std::span<const std::string> path,
                                        RawTexts& raw,
                                        Work& work) {
  Value value = make(Kind::root);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool from_map = value.kind == Kind::map;
    auto next = step(row, value, path[i]);
    if (next) {
      value = *next;
      if (value.is_raw) value = NOMAD_TRY(raw.read(value, work));
      continue;
    }
    if (next.error().code == Errc::not_found && from_map && i + 1 == path.size())
      return std::optional<Value>{};
    const auto at = pointer_text(path);
    const auto part = " part " + std::to_string(i);
    if (next.error().code == Errc::corrupt)
      return missing(at + ": at" + part + ", " + next.error().what);
    return missing(at + " at" + part + ": " + next.error().what);
  }
  return std::optional<Value>{value};
}

}  // namespace nomad::query
