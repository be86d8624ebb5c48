// The reading half of the JSON codec.
#include <algorithm>
#include <array>
#include <bit>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/object/raw_struct.hpp"

namespace nomad {
namespace {

using object::FieldPlan;
using object::RawStruct;
using object::set_text;
using object::Shape;
using object::StructPlan;
using object::ValuePlan;

/// The way to a field, spelled out only when something is wrong.
struct Location {
  const Location* up = nullptr;
  std::string_view step;
  std::string_view owner;  ///< What Go calls the struct that the field is in.

  std::string path() const {
    if (up == nullptr) return std::string{step};
    const auto before = up->path();
    return before.empty() ? std::string{step} : before + '.' + std::string{step};
  }
};

/// As a client most likely wrote it.
std::string number_text(const JsonNode& node) {
  if (node.is(JsonKind::real)) return fmt::format("{}", node.real);
  return node.is(JsonKind::integer) ? std::to_string(node.integer) : std::to_string(node.natural);
}

/// Whether Go tells which number it was that did not fit.
bool tells_number(std::string_view go_type) {
  return go_type != "string" && go_type != "bool" && !go_type.starts_with('[')
         && !go_type.starts_with("map[") && !go_type.starts_with("api.");
}

class Decoder {
public:
  bool read_struct(const JsonNode& source, RawStruct target, const Location& location);

  /// "json: cannot unmarshal …". Answers false, as all that reads does when it fails.
  bool mismatch(const JsonNode& source, std::string_view go_type, const Location& location);

  Error take_error() { return {Errc::invalid_argument, std::move(problem_)}; }

private:
  bool fail(const Location& location, std::string_view what);
  bool read_field(const JsonNode&, const FieldPlan&, RawStruct& target, const Location&);
  bool read_pointer(const JsonNode&, const FieldPlan&, capnp::AnyPointer::Builder, const Location&);
  bool read_scalar(const JsonNode&, const ValuePlan&, std::string_view go_type, const Location&);
  bool read_whole(const JsonNode&, capnp::Type, std::string_view go_type, const Location&);
  bool read_real(const JsonNode&, capnp::Type, std::string_view go_type, const Location&);
  bool read_time(const JsonNode&, std::string_view go_type, const Location&);
  bool read_duration(const JsonNode&, std::string_view go_type, const Location&);
  bool read_duration_text(const JsonNode&, std::string_view go_type, const Location&);
  bool read_enum(const JsonNode&, capnp::EnumSchema, const Location&);
  bool read_bytes(const JsonNode&, capnp::AnyPointer::Builder);
  bool read_list(const JsonNode&, const FieldPlan&, capnp::AnyPointer::Builder, const Location&);
  bool read_texts(const JsonNode&, capnp::AnyPointer::Builder, const Location&);
  bool read_map(const JsonNode&, const FieldPlan&, capnp::AnyPointer::Builder, const Location&);

  template <class T>
  bool read_scalars(const JsonNode&, const FieldPlan&, capnp::AnyPointer::Builder, const Location&);

  std::uint64_t bits_ = 0;  ///< The scalar that was read last.
  std::string problem_;
};

bool Decoder::fail(const Location& location, std::string_view what) {
  problem_ = location.path() + ": " + std::string{what};
  return false;
}

bool Decoder::mismatch(const JsonNode& source, std::string_view go_type, const Location& location) {
  problem_ = "json: cannot unmarshal " + std::string{go_kind(source)};
  if (source.is_number() && tells_number(go_type)) problem_ += ' ' + number_text(source);
  problem_ += fmt::format(" into Go struct field {}.{} of type {}", location.owner, location.path(),
                          go_type);
  return false;
}

bool Decoder::read_struct(const JsonNode& source, RawStruct target, const Location& location) {
  const StructPlan& plan = target.plan();
  std::array<const JsonNode*, StructPlan::most_fields> values;  // of members of one name the last
  std::array<std::uint8_t, StructPlan::most_fields> order;
  std::fill_n(values.begin(), plan.fields.size(), nullptr);
  std::size_t count = 0;
  for (const auto member : source.members()) {
    const FieldPlan* field = plan.find(member.key);
    if (field == nullptr || field->hidden) continue;
    const auto at = static_cast<std::uint8_t>(field - plan.fields.data());
    if (values[at] == nullptr) order[count++] = at;
    values[at] = &member.value;
  }
  std::uint64_t marks = target.marks();
  for (std::size_t i = 0; i < count; ++i) {
    const FieldPlan& field = plan.fields[order[i]];
    const JsonNode& value = *values[order[i]];
    if (value.is(JsonKind::null)) continue;
    if (!read_field(value, field, target, {&location, field.name, plan.name})) return false;
    marks |= field.mark;
  }
  target.set_marks(marks);
  return true;
}

bool Decoder::read_field(const JsonNode& source,
                         const FieldPlan& field,
                         RawStruct& target,
                         const Location& location) {
  if (field.slot.is_pointer())
    return read_pointer(source, field, target.pointer(field.slot), location);
  const bool is_optional = field.value.shape == Shape::optional;
  const ValuePlan& value = is_optional ? *field.value.element : field.value;
  if (!read_scalar(source, value, field.go_type, location)) return false;
  target.store(field.slot, bits_);
  if (is_optional) target.store(field.tag, field.given);
  return true;
}

bool Decoder::read_scalar(const JsonNode& source,
                          const ValuePlan& plan,
                          std::string_view go_type,
                          const Location& location) {
  switch (plan.shape) {
    case Shape::boolean:
      bits_ = source.is(JsonKind::boolean) && source.boolean ? 1 : 0;
      return source.is(JsonKind::boolean) || mismatch(source, go_type, location);
    case Shape::signed_number:
    case Shape::unsigned_number:
      return read_whole(source, plan.type, go_type, location);
    case Shape::real:
      return read_real(source, plan.type, go_type, location);
    case Shape::timestamp:
      return read_time(source, go_type, location);
    case Shape::duration:
      return read_duration(source, go_type, location);
    case Shape::duration_text:
      return read_duration_text(source, go_type, location);
    case Shape::enumeration:
      return read_enum(source, plan.type.asEnum(), location);
    case Shape::text:
    case Shape::secret_text:
    case Shape::raw_json:
    case Shape::base64:
    case Shape::object:
    case Shape::list:
    case Shape::map:
    case Shape::optional:
      break;
  }
  return fail(location, "a value of this kind cannot stand here");
}

template <class T>
bool holds(const JsonNode& source) {
  return !source.is(JsonKind::real) && source.whole<T>();
}

/// Whether the integer type `type` has room for a number.
bool has_room(capnp::Type type, const JsonNode& source) {
  using Which = capnp::schema::Type::Which;
  switch (type.which()) {
    case Which::INT8:
      return holds<std::int8_t>(source);
    case Which::INT16:
      return holds<std::int16_t>(source);
    case Which::INT32:
      return holds<std::int32_t>(source);
    case Which::INT64:
      return holds<std::int64_t>(source);
    case Which::UINT8:
      return holds<std::uint8_t>(source);
    case Which::UINT16:
      return holds<std::uint16_t>(source);
    case Which::UINT32:
      return holds<std::uint32_t>(source);
    default:
      return holds<std::uint64_t>(source);
  }
}

bool Decoder::read_whole(const JsonNode& source,
                         capnp::Type type,
                         std::string_view go_type,
                         const Location& location) {
  if (!has_room(type, source)) return mismatch(source, go_type, location);
  bits_
      = source.is(JsonKind::integer) ? static_cast<std::uint64_t>(source.integer) : source.natural;
  return true;
}

bool Decoder::read_real(const JsonNode& source,
                        capnp::Type type,
                        std::string_view go_type,
                        const Location& location) {
  if (!source.is_number()) return mismatch(source, go_type, location);
  const double number = source.is(JsonKind::real)      ? source.real
                        : source.is(JsonKind::integer) ? static_cast<double>(source.integer)
                                                       : static_cast<double>(source.natural);
  bits_ = type.isFloat32() ? std::bit_cast<std::uint32_t>(static_cast<float>(number))
                           : std::bit_cast<std::uint64_t>(number);
  return true;
}

bool Decoder::read_time(const JsonNode& source,
                        std::string_view go_type,
                        const Location& location) {
  if (!source.is(JsonKind::text)) return mismatch(source, go_type, location);
  bits_ = 0;
  if (source.text().empty()) return true;
  const auto instant = parse_rfc3339(source.text());
  if (!instant) return fail(location, instant.error().what);
  bits_ = static_cast<std::uint64_t>(*instant);
  return true;
}

/// Nanoseconds, or a duration's text, which Nomad's own documentation uses for checks.
bool Decoder::read_duration(const JsonNode& source,
                            std::string_view go_type,
                            const Location& location) {
  if (source.is(JsonKind::integer)) {
    bits_ = static_cast<std::uint64_t>(source.integer);
    return true;
  }
  const auto duration = parse_duration(source.text());
  if (!source.is(JsonKind::text) || !duration) return mismatch(source, go_type, location);
  bits_ = static_cast<std::uint64_t>(duration->count());
  return true;
}

/// What is no duration is told in Go's own words, as its decoders of these do.
bool Decoder::read_duration_text(const JsonNode& source,
                                 std::string_view go_type,
                                 const Location& location) {
  if (!source.is(JsonKind::text)) return read_duration(source, go_type, location);
  const auto duration
      = source.text().empty() ? Result<Nanoseconds>{Nanoseconds{}} : parse_duration(source.text());
  if (!duration) {
    problem_ = duration.error().what;
    return false;
  }
  bits_ = static_cast<std::uint64_t>(duration->count());
  return true;
}

bool Decoder::read_enum(const JsonNode& source,
                        capnp::EnumSchema schema,
                        const Location& location) {
  if (!source.is(JsonKind::text)) return mismatch(source, "string", location);
  for (auto enumerant : schema.getEnumerants()) {
    if (object::json_name(enumerant) != source.text()) continue;
    bits_ = enumerant.getOrdinal();
    return true;
  }
  return fail(location, "unknown value \"" + std::string{source.text()} + '"');
}

bool Decoder::read_pointer(const JsonNode& source,
                           const FieldPlan& field,
                           capnp::AnyPointer::Builder target,
                           const Location& location) {
  switch (field.value.shape) {
    case Shape::text:
    case Shape::secret_text:
      if (!source.is(JsonKind::text)) break;
      set_text(target, source.text());
      return true;
    case Shape::raw_json: {
      if (!source.is(JsonKind::object)) break;
      std::string content;
      append_sorted_json(content, source);
      set_text(target, content);
      return true;
    }
    case Shape::base64:
      if (!source.is(JsonKind::text)) break;
      return read_bytes(source, target);
    case Shape::object:
      if (!source.is(JsonKind::object)) break;
      return read_struct(source, {init_struct(target, *field.value.fields), *field.value.fields},
                         location);
    case Shape::list:
      if (!source.is(JsonKind::array)) break;
      return read_list(source, field, target, location);
    case Shape::map:
      if (!source.is(JsonKind::object)) break;
      return read_map(source, field, target, location);
    case Shape::boolean:
    case Shape::signed_number:
    case Shape::unsigned_number:
    case Shape::real:
    case Shape::timestamp:
    case Shape::duration:
    case Shape::duration_text:
    case Shape::enumeration:
    case Shape::optional:
      return fail(location, "a value of this kind cannot stand here");
  }
  return mismatch(source, field.go_type, location);
}

bool Decoder::read_bytes(const JsonNode& source, capnp::AnyPointer::Builder target) {
  const auto bytes = decode_base64(source.text());
  if (!bytes) {
    problem_ = bytes.error().what;
    return false;
  }
  auto data = target.initAs<capnp::Data>(static_cast<capnp::uint>(bytes->size()));
  std::copy(bytes->begin(), bytes->end(), data.begin());
  return true;
}

/// A null element is Go's zero value.
bool Decoder::read_texts(const JsonNode& source,
                         capnp::AnyPointer::Builder target,
                         const Location& location) {
  auto texts = target.initAs<capnp::List<capnp::Text>>(source.size);
  unsigned next = 0;
  for (const JsonNode& element : source.elements()) {
    if (!element.is(JsonKind::text) && !element.is(JsonKind::null))
      return mismatch(element, "string", location);
    const auto text = element.text();
    auto copy = texts.init(next++, static_cast<capnp::uint>(text.size()));
    std::copy(text.begin(), text.end(), copy.begin());
  }
  return true;
}

template <class T>
bool Decoder::read_scalars(const JsonNode& source,
                           const FieldPlan& field,
                           capnp::AnyPointer::Builder target,
                           const Location& location) {
  auto list = target.initAs<capnp::List<T>>(source.size);
  unsigned next = 0;
  for (const JsonNode& element : source.elements()) {
    if (!read_scalar(element, *field.value.element, field.go_type, location)) return false;
    list.set(next++, static_cast<T>(bits_));
  }
  return true;
}

bool Decoder::read_list(const JsonNode& source,
                        const FieldPlan& field,
                        capnp::AnyPointer::Builder target,
                        const Location& location) {
  const ValuePlan& element = *field.value.element;
  if (element.shape == Shape::text) return read_texts(source, target, location);
  if (element.type.isUInt16()) return read_scalars<std::uint16_t>(source, field, target, location);
  if (element.shape != Shape::object)
    return fail(location, "a list of this kind cannot stand here");
  auto structs = init_structs(target, *element.fields, source.size);
  unsigned next = 0;
  for (const JsonNode& each : source.elements()) {
    const RawStruct into{structs[next++], *element.fields};
    if (each.is(JsonKind::null)) continue;
    if (!each.is(JsonKind::object)) return mismatch(each, "api." + element.fields->name, location);
    if (!read_struct(each, into, location)) return false;
  }
  return true;
}

bool Decoder::read_map(const JsonNode& source,
                       const FieldPlan& field,
                       capnp::AnyPointer::Builder target,
                       const Location& location) {
  const StructPlan& entry = *field.value.fields;
  const FieldPlan& key = entry.at("Key");
  const FieldPlan& value = entry.at("Value");
  const auto keys = sorted_keys(source);
  auto entries = init_structs(target, entry, static_cast<std::uint32_t>(keys.size()));
  for (unsigned i = 0; i < keys.size(); ++i) {
    RawStruct into{entries[i], entry};
    set_text(into.pointer(key.slot), keys[i]->text());
    const JsonNode& content = keys[i][1];
    if (!content.is(JsonKind::null)) {
      if (!read_field(content, value, into, location)) return false;
    } else if (value.value.shape == Shape::text) {
      set_text(into.pointer(value.slot), {});
    } else if (value.value.shape == Shape::object) {
      init_struct(into.pointer(value.slot), *value.value.fields);
    }
  }
  return true;
}

}  // namespace

Result<> decode_json(const JsonNode& source,
                     capnp::AnyStruct::Builder target,
                     const StructPlan& plan,
                     std::string_view path) {
  Decoder decoder;
  const Location location{nullptr, path, plan.name};
  const bool good = source.is(JsonKind::object)
                        ? decoder.read_struct(source, {target, plan}, location)
                        : decoder.mismatch(source, "api." + plan.name, location);
  if (!good) return decoder.take_error();
  return {};
}

Result<boost::json::value> parse_json(std::string_view text, boost::json::storage_ptr storage) {
  constexpr std::size_t around = 16;  // what answers, handles and events put around a request's
  boost::json::parse_options limits;
  limits.max_depth = FlatJson::request_depth + around;
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
