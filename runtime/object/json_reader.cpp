// The reading half of the JSON codec.
#include <algorithm>
#include <limits>
#include <vector>

#include <boost/json.hpp>

#include "runtime/base/base64.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/object/plan.hpp"

namespace nomad {
namespace {

using object::Shape;
using object::StructPlan;
using object::ValuePlan;
using Json = boost::json::value;
using Dynamic = capnp::DynamicValue::Reader;

/// Where we are in the JSON text, spelled out only when something is wrong.
struct Place {
  const Place* parent = nullptr;
  std::string_view step;
  std::size_t index = 0;  ///< The step, when `step` is empty.

  Error error(std::string_view problem) const {
    std::string path;
    for (const Place* up = this; up->parent != nullptr; up = up->parent) {
      auto part = up->step.empty() ? std::to_string(up->index) : std::string{up->step};
      path = path.empty() ? part : part + '.' + path;
    }
    return {Errc::invalid_argument,
            path.empty() ? std::string{problem} : path + ": " + std::string{problem}};
  }

  Error mismatch(std::string_view expected, const Json& got) const {
    std::string_view kind = "null";
    if (got.is_object()) kind = "an object";
    if (got.is_array()) kind = "an array";
    if (got.is_string()) kind = "a string";
    if (got.is_bool()) kind = "a boolean";
    if (got.is_number()) kind = "a number";
    return error("expected " + std::string{expected} + ", got " + std::string{kind});
  }
};

Result<> read_struct(const Json&, capnp::DynamicStruct::Builder, const StructPlan&, const Place&);

Result<> read_list(const Json&, capnp::DynamicList::Builder, const ValuePlan&, const Place&);

/// The bits of the integer type that `type` is.
unsigned bits_of(capnp::Type type) {
  using Which = capnp::schema::Type::Which;
  switch (type.which()) {
    case Which::INT8:
    case Which::UINT8:
      return 8;
    case Which::INT16:
    case Which::UINT16:
      return 16;
    case Which::INT32:
    case Which::UINT32:
      return 32;
    default:
      return 64;
  }
}

Result<std::int64_t> read_signed(const Json& source, unsigned bits, const Place& place) {
  if (!source.is_number()) return place.mismatch("a number", source);
  boost::json::error_code failure;
  const auto number = source.to_number<std::int64_t>(failure);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  if (failure || number > most || number < -most - 1)
    return place.error("expected a whole number of " + std::to_string(bits) + " bits");
  return number;
}

Result<std::uint64_t> read_unsigned(const Json& source, unsigned bits, const Place& place) {
  if (!source.is_number()) return place.mismatch("a number", source);
  if (source.is_int64() && source.get_int64() < 0) return place.error("must not be negative");
  boost::json::error_code failure;
  const auto number = source.to_number<std::uint64_t>(failure);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  if (failure || number > most)
    return place.error("expected a whole number of " + std::to_string(bits) + " bits");
  return number;
}

std::string_view text_of(const Json& source) {
  const auto& content = source.get_string();
  return {content.data(), content.size()};
}

Result<std::int64_t> read_timestamp(const Json& source, const Place& place) {
  if (!source.is_string()) return place.mismatch("a time in the form of RFC 3339", source);
  if (source.get_string().empty()) return std::int64_t{0};
  auto instant = parse_rfc3339(text_of(source));
  if (!instant) return place.error(instant.error().what);
  return *instant;
}

Result<std::int64_t> read_duration(const Json& source, const Place& place) {
  if (source.is_number()) return read_signed(source, 64, place);
  if (!source.is_string()) return place.mismatch("a duration", source);
  auto duration = parse_duration(text_of(source));
  if (!duration) return place.error(duration.error().what);
  return duration->count();
}

Result<capnp::DynamicEnum> read_enum(const Json& source,
                                     capnp::EnumSchema schema,
                                     const Place& place) {
  if (!source.is_string()) return place.mismatch("a string", source);
  for (auto enumerant : schema.getEnumerants())
    if (object::json_name(enumerant) == text_of(source)) return capnp::DynamicEnum{enumerant};
  return place.error("unknown value \"" + std::string{text_of(source)} + '"');
}

/// Decodes base64 into `target`, which must outlive the returned reader.
Result<capnp::Data::Reader> read_base64(const Json& source,
                                        std::string& target,
                                        const Place& place) {
  if (!source.is_string()) return place.mismatch("a base64 string", source);
  auto bytes = decode_base64(text_of(source));
  if (!bytes) return place.error(bytes.error().what);
  target = std::move(*bytes);
  return capnp::Data::Reader{reinterpret_cast<const unsigned char*>(target.data()), target.size()};
}

/// Reads a value that is not made of others and gives it to `set`.
Result<> read_scalar(const Json& source, const ValuePlan& plan, const Place& place, auto set) {
  const auto give = [&set](auto outcome) -> Result<> {
    if (!outcome) return outcome.error();
    set(Dynamic{*outcome});
    return {};
  };
  std::string scratch;
  switch (plan.shape) {
    case Shape::boolean:
      if (!source.is_bool()) return place.mismatch("true or false", source);
      set(Dynamic{source.get_bool()});
      return {};
    case Shape::signed_number:
      return give(read_signed(source, bits_of(plan.type), place));
    case Shape::unsigned_number:
      return give(read_unsigned(source, bits_of(plan.type), place));
    case Shape::real:
      if (!source.is_number()) return place.mismatch("a number", source);
      set(Dynamic{source.to_number<double>()});
      return {};
    case Shape::text:
    case Shape::secret_text:
      if (!source.is_string()) return place.mismatch("a string", source);
      set(Dynamic{capnp::Text::Reader{source.get_string().c_str(), source.get_string().size()}});
      return {};
    case Shape::raw_json:
      scratch = boost::json::serialize(source);
      set(Dynamic{capnp::Text::Reader{scratch.c_str(), scratch.size()}});
      return {};
    case Shape::base64:
      return give(read_base64(source, scratch, place));
    case Shape::timestamp:
      return give(read_timestamp(source, place));
    case Shape::duration:
      return give(read_duration(source, place));
    case Shape::enumeration:
      return give(read_enum(source, plan.type.asEnum(), place));
    case Shape::object:
    case Shape::list:
    case Shape::map:
    case Shape::optional:
      break;
  }
  return place.error("a value of this kind cannot stand here");
}

Result<> read_map_entry(const Json& value,
                        const ValuePlan& plan,
                        capnp::DynamicStruct::Builder entry,
                        const Place& here) {
  const auto content = plan.fields->schema.getFieldByName("value");
  if (value.is_null()) return {};
  if (plan.element->shape == Shape::object)
    return read_struct(value, entry.init(content).as<capnp::DynamicStruct>(), *plan.element->fields,
                       here);
  if (plan.element->shape == Shape::list) {
    if (!value.is_array()) return here.mismatch("an array", value);
    auto list = entry.init(content, static_cast<unsigned>(value.get_array().size()));
    return read_list(value, list.as<capnp::DynamicList>(), *plan.element->element, here);
  }
  return read_scalar(value, *plan.element, here,
                     [&](const Dynamic& scalar) { entry.set(content, scalar); });
}

Result<> read_map(const Json& source,
                  const ValuePlan& plan,
                  capnp::DynamicList::Builder entries,
                  const Place& place) {
  std::vector<const boost::json::key_value_pair*> sorted;
  for (const auto& member : source.get_object())
    sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->key() < b->key(); });
  const auto key = plan.fields->schema.getFieldByName("key");
  for (unsigned i = 0; i < sorted.size(); ++i) {
    const auto name = sorted[i]->key();
    auto entry = entries[i].as<capnp::DynamicStruct>();
    entry.set(key, capnp::Text::Reader{sorted[i]->key_c_str(), name.size()});
    NOMAD_TRY(
        read_map_entry(sorted[i]->value(), plan, entry, Place{&place, {name.data(), name.size()}}));
  }
  return {};
}

Result<> read_list(const Json& source,
                   capnp::DynamicList::Builder list,
                   const ValuePlan& element,
                   const Place& place) {
  const auto& items = source.get_array();
  for (unsigned i = 0; i < items.size(); ++i) {
    const Place here{&place, {}, i};
    if (element.shape == Shape::object) {
      NOMAD_TRY(read_struct(items[i], list[i].as<capnp::DynamicStruct>(), *element.fields, here));
    } else if (element.shape == Shape::list) {
      return here.error("a list of lists cannot stand here");
    } else {
      NOMAD_TRY(read_scalar(items[i], element, here,
                            [&](const Dynamic& scalar) { list.set(i, scalar); }));
    }
  }
  return {};
}

Result<> read_field(const Json& source,
                    const object::FieldPlan& field,
                    capnp::DynamicStruct::Builder target,
                    const Place& place) {
  const auto& plan = field.value;
  switch (plan.shape) {
    case Shape::object:
      return read_struct(source, target.init(field.field).as<capnp::DynamicStruct>(), *plan.fields,
                         place);
    case Shape::list: {
      if (!source.is_array()) return place.mismatch("an array", source);
      auto list = target.init(field.field, static_cast<unsigned>(source.get_array().size()));
      return read_list(source, list.as<capnp::DynamicList>(), *plan.element, place);
    }
    case Shape::map: {
      if (!source.is_object()) return place.mismatch("an object", source);
      auto entries = target.init(field.field, static_cast<unsigned>(source.get_object().size()));
      return read_map(source, plan, entries.as<capnp::DynamicList>(), place);
    }
    case Shape::optional: {
      auto group = target.init(field.field).as<capnp::DynamicStruct>();
      return read_scalar(source, *plan.element, place,
                         [&group](const Dynamic& scalar) { group.set("value", scalar); });
    }
    default:
      return read_scalar(source, plan, place,
                         [&](const Dynamic& scalar) { target.set(field.field, scalar); });
  }
}

Result<> read_struct(const Json& source,
                     capnp::DynamicStruct::Builder target,
                     const StructPlan& plan,
                     const Place& place) {
  if (!source.is_object()) return place.mismatch("an object", source);
  for (const auto& member : source.get_object()) {
    const auto key = member.key();
    const auto* field = plan.find({key.data(), key.size()});
    if (field == nullptr || field->hidden || member.value().is_null()) continue;
    NOMAD_TRY(read_field(member.value(), *field, target, Place{&place, field->name}));
  }
  return {};
}

}  // namespace

Result<> from_json(const Json& source, capnp::DynamicStruct::Builder target) {
  return read_struct(source, target, object::plan_of(target.getSchema()), Place{});
}

Result<Json> parse_json(std::string_view text, boost::json::storage_ptr storage) {
  boost::json::parse_options limits;
  limits.max_depth = 64;
  boost::json::stream_parser parser{storage, limits};
  parser.reset(storage);
  boost::json::error_code failure;
  std::size_t used = parser.write_some(text.data(), text.size(), failure);
  if (!failure) {
    const auto rest = text.find_first_not_of(" \t\r\n", used);
    if (rest != std::string_view::npos)
      return Error{Errc::invalid_argument,
                   "byte " + std::to_string(rest) + ": unexpected text after the JSON value"};
    parser.finish(failure);
  }
  if (failure)
    return Error{Errc::invalid_argument, "byte " + std::to_string(used) + ": " + failure.message()};
  return parser.release();
}

}  // namespace nomad
