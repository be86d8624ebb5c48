// The writing half of the JSON codec: one writer for whatever Cap'n Proto reads, by its checked
// readers, and for Objects, whose memory it reads as it is.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/object/flat_struct.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/object/json_pieces.hpp"
#include "runtime/object/plan.hpp"

namespace nomad {
namespace {

using object::FieldPlan;
using object::FlatPointer;
using object::FlatStruct;
using object::Shape;
using object::Slot;
using object::StructPlan;
using object::ValuePlan;

/// The same as FlatPointer and FlatStruct, by Cap'n Proto's checked readers.
class CheckedPointer {
public:
  explicit CheckedPointer(capnp::AnyPointer::Reader from) : from_{from} {}

  bool is_null() const { return from_.isNull(); }

  std::string_view text() const {
    const auto text = from_.getAs<capnp::Text>();
    return {text.begin(), text.size()};
  }

  capnp::AnyPointer::Reader read() const { return from_; }

private:
  capnp::AnyPointer::Reader from_;
};

class CheckedStruct {
public:
  explicit CheckedStruct(capnp::AnyStruct::Reader from)
      : data_{from.getDataSection()}, pointers_{from.getPointerSection()} {}

  explicit CheckedStruct(const CheckedPointer& pointer)
      : CheckedStruct{pointer.read().getAs<capnp::AnyStruct>()} {}

  std::uint64_t scalar(const Slot& slot) const {
    return object::scalar_in(data_.begin(), data_.size(), slot);
  }

  CheckedPointer pointer(const Slot& slot) const {
    return CheckedPointer{slot.offset < pointers_.size() ? pointers_[slot.offset]
                                                         : capnp::AnyPointer::Reader{}};
  }

private:
  capnp::Data::Reader data_;
  capnp::List<capnp::AnyPointer>::Reader pointers_;
};

FlatStruct struct_behind(const FlatPointer& pointer) {
  return FlatStruct{pointer};
}

CheckedStruct struct_behind(const CheckedPointer& pointer) {
  return CheckedStruct{pointer};
}

template <class Each>
void each_struct(const CheckedPointer& list, Each each) {
  for (const auto one : list.read().getAs<capnp::AnyList>().as<capnp::List<capnp::AnyStruct>>())
    each(CheckedStruct{one});
}

/// Lists of structs that are none in Objects' own form are read as Cap'n Proto does.
template <class Each>
void each_struct(const FlatPointer& list, Each each) {
  if (list.is_struct_list())
    object::each_flat_struct(list, each);
  else
    each_struct(CheckedPointer{list.read()}, each);
}

template <class Struct>
bool is_given(const Struct& object, const FieldPlan& field) {
  return object.scalar(field.tag) == field.given
         && (!field.slot.is_pointer() || !object.pointer(field.slot).is_null());
}

/// Writes `text` quoted and escaped by `add(piece)`.
template <class Add>
void add_escaped_text(std::string_view text, Add add) {
  static constexpr char digits[] = "0123456789abcdef";
  add("\"");
  std::size_t written = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (JsonPieces::is_plain(text[i])) continue;
    add(text.substr(written, i - written));
    written = i + 1;
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        add("\\\"");
        break;
      case '\\':
        add("\\\\");
        break;
      case '\n':
        add("\\n");
        break;
      case '\r':
        add("\\r");
        break;
      case '\t':
        add("\\t");
        break;
      default: {
        const char code[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 0xf]};
        add(std::string_view{code, sizeof code});
      }
    }
  }
  add(text.substr(written));
  add("\"");
}

void add_base64(JsonPieces& out, capnp::Data::Reader data) {
  if (data.size() == 0) return out.add("null");
  out.add('"');
  out.add(encode_base64({reinterpret_cast<const char*>(data.begin()), data.size()}));
  out.add('"');
}

double real_of(std::uint64_t bits, const Slot& slot) {
  return slot.bits == 32
             ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
             : std::bit_cast<double>(bits);
}

/// Empty for one that a newer release wrote.
std::string_view name_of(std::uint64_t value, const ValuePlan& plan) {
  return value < plan.names->size() ? (*plan.names)[value] : std::string_view{};
}

void add_scalar(JsonPieces& out, std::uint64_t bits, const Slot& slot, const ValuePlan& plan) {
  switch (plan.shape) {
    case Shape::boolean:
      return out.add(bits != 0 ? std::string_view{"true"} : std::string_view{"false"});
    case Shape::duration_text:
      out.add('"');
      if (bits != 0) out.add(format_duration(Nanoseconds{static_cast<std::int64_t>(bits)}));
      return out.add('"');
    case Shape::duration:
    case Shape::signed_number:
      return out.add_number(static_cast<std::int64_t>(bits));
    case Shape::real:
      return append_json_real(out.string(), real_of(bits, slot));
    case Shape::timestamp:
      if (bits == 0) return out.add("null");
      out.add('"');
      out.add(format_rfc3339(static_cast<std::int64_t>(bits)));
      return out.add('"');
    case Shape::enumeration:
      if (bits >= plan.names->size()) return out.add("null");
      out.add('"');
      out.add(name_of(bits, plan));
      return out.add('"');
    default:
      return out.add_number(bits);
  }
}

/// A list of what is no struct and no text: of few elements, so the schema may be asked.
void add_scalars(JsonPieces& out, capnp::AnyPointer::Reader value, const ValuePlan& plan) {
  const auto list = value.getAs<capnp::DynamicList>(plan.type.asList());
  const auto& element = *plan.element;
  bool is_first = true;
  for (const auto each : list) {
    if (!std::exchange(is_first, false)) out.add(',');
    switch (element.shape) {
      case Shape::boolean:
        out.add(each.as<bool>() ? std::string_view{"true"} : std::string_view{"false"});
        break;
      case Shape::real:
        append_json_real(out.string(), each.as<double>());
        break;
      case Shape::base64:
        add_base64(out, each.as<capnp::Data>());
        break;
      case Shape::enumeration:
        add_scalar(out, each.as<capnp::DynamicEnum>().getRaw(), {}, element);
        break;
      case Shape::unsigned_number:
        out.add_number(each.as<std::uint64_t>());
        break;
      default:
        out.add_number(each.as<std::int64_t>());
    }
  }
}

template <class Struct>
void add_struct(JsonPieces& out, const Struct& object, const StructPlan& plan);
template <class Pointer>
void add_pointer(JsonPieces& out, const Pointer& value, const ValuePlan& plan);

template <class Pointer>
void add_list(JsonPieces& out, const Pointer& value, const ValuePlan& plan) {
  out.add('[');
  bool is_first = true;
  if (plan.element->shape == Shape::object) {
    each_struct(value, [&](const auto& each) {
      if (!std::exchange(is_first, false)) out.add(',');
      add_struct(out, each, *plan.element->fields);
    });
  } else if (plan.element->shape == Shape::text) {
    for (const auto each : value.read().template getAs<capnp::List<capnp::Text>>()) {
      if (!std::exchange(is_first, false)) out.add(',');
      out.add_text({each.begin(), each.size()});
    }
  } else {
    add_scalars(out, value.read(), plan);
  }
  out.add(']');
}

template <class Pointer>
void add_map(JsonPieces& out, const Pointer& value, const ValuePlan& plan) {
  out.add('{');
  const auto& key = plan.fields->at("Key");
  const auto& content = plan.fields->at("Value");
  bool is_first = true;
  each_struct(value, [&](const auto& entry) {
    if (!std::exchange(is_first, false)) out.add(',');
    out.add_text(entry.pointer(key.slot).text());
    out.add(':');
    if (!content.slot.is_pointer())
      add_scalar(out, entry.scalar(content.slot), content.slot, *plan.element);
    else if (plan.element->shape == Shape::object && entry.pointer(content.slot).is_null())
      out.add("null");
    else
      add_pointer(out, entry.pointer(content.slot), *plan.element);
  });
  out.add('}');
}

template <class Pointer>
void add_pointer(JsonPieces& out, const Pointer& value, const ValuePlan& plan) {
  switch (plan.shape) {
    case Shape::text:
      return out.add_text(value.text());
    case Shape::secret_text:
      return out.add("\"\"");
    case Shape::raw_json: {
      const auto json = value.text();
      return out.add(json.empty() ? std::string_view{"null"} : json);
    }
    case Shape::base64:
      return add_base64(out, value.read().template getAs<capnp::Data>());
    case Shape::object:
      return add_struct(out, struct_behind(value), *plan.fields);
    case Shape::list:
      return add_list(out, value, plan);
    case Shape::map:
      return add_map(out, value, plan);
    default:
      return out.add("null");  // no schema of ours has such a field
  }
}

bool is_pointer(Shape shape) {
  return shape == Shape::object || shape == Shape::list || shape == Shape::map;
}

/// Whether Go's encoder would leave the value out of a field marked `omitempty`.
template <class Struct>
bool is_empty(const Struct& object, const FieldPlan& field) {
  const auto& slot = field.slot;
  switch (field.value.shape) {
    case Shape::optional:
      return !is_given(object, field);
    case Shape::text:
    case Shape::secret_text:
    case Shape::raw_json:
      return object.pointer(slot).text().empty();
    case Shape::base64:
      return object.pointer(slot).read().template getAs<capnp::Data>().size() == 0;
    case Shape::object:
      return object.pointer(slot).is_null();
    case Shape::list:
    case Shape::map:
      return object.pointer(slot).is_null()
             || object.pointer(slot).read().template getAs<capnp::AnyList>().size() == 0;
    case Shape::enumeration:
      return name_of(object.scalar(slot), field.value).empty();
    case Shape::real:
      return real_of(object.scalar(slot), slot) == 0;  // minus zero, too
    default:
      return object.scalar(slot) == 0;
  }
}

template <class Struct>
void add_field(JsonPieces& out, const Struct& object, const FieldPlan& field) {
  const auto& slot = field.slot;
  const bool is_optional = field.value.shape == Shape::optional;
  if (is_optional && !is_given(object, field)) return out.add("null");
  const auto& value = is_optional ? *field.value.element : field.value;
  if (!slot.is_pointer()) {
    const auto bits = object.scalar(slot);
    if (value.shape == Shape::duration_text && field.always && bits == 0) return out.add("\"0s\"");
    return add_scalar(out, bits, slot, value);
  }
  const auto pointer = object.pointer(slot);
  if (is_pointer(value.shape) && !field.always && pointer.is_null()) return out.add("null");
  add_pointer(out, pointer, value);
}

void add_name(JsonPieces& out, const FieldPlan& field, bool is_first) {
  constexpr std::size_t around = 4;              // the comma, two quotes, the colon
  const std::size_t skipped = is_first ? 1 : 0;  // the comma
  out.add_fixed(field.quoted_name.data() + skipped, field.name.size() + around - skipped);
}

template <class Struct>
void add_members(JsonPieces& out, const Struct& object, const StructPlan& plan) {
  bool is_first = true;
  for (const FieldPlan& field : plan.fields) {
    if (field.hidden) continue;
    const bool may_miss = field.omit_empty && !field.always;
    const auto shape = field.value.shape;
    if (shape == Shape::text) {  // what most fields are
      const auto text = object.pointer(field.slot).text();
      if (may_miss && text.empty()) continue;
      add_name(out, field, std::exchange(is_first, false));
      out.add_text(text);
    } else if (shape == Shape::signed_number || shape == Shape::unsigned_number) {
      const auto bits = object.scalar(field.slot);
      if (may_miss && bits == 0) continue;
      add_name(out, field, std::exchange(is_first, false));
      add_scalar(out, bits, field.slot, field.value);
    } else {
      if (may_miss && is_empty(object, field)) continue;
      add_name(out, field, std::exchange(is_first, false));
      add_field(out, object, field);
    }
  }
}

template <class Struct>
void add_struct(JsonPieces& out, const Struct& object, const StructPlan& plan) {
  out.add('{');
  add_members(out, object, plan);
  out.add('}');
}

}  // namespace

void append_json(std::string& out, capnp::DynamicStruct::Reader object) {
  JsonPieces pieces{out};
  add_struct(pieces, CheckedStruct{capnp::AnyStruct::Reader{object}},
             object::plan_of(object.getSchema()));
  pieces.finish();
}

void append_flat_json(std::string& out,
                      const object::FlatStruct& object,
                      const object::StructPlan& plan) {
  JsonPieces pieces{out};
  add_struct(pieces, object, plan);
  pieces.finish();
}

void add_flat_json(JsonPieces& out,
                   const object::FlatStruct& object,
                   const object::StructPlan& plan) {
  add_struct(out, object, plan);
}

void append_json_members(std::string& out, capnp::DynamicStruct::Reader object) {
  JsonPieces pieces{out};
  add_members(pieces, CheckedStruct{capnp::AnyStruct::Reader{object}},
              object::plan_of(object.getSchema()));
  pieces.finish();
}

void append_json_text(std::string& out, std::string_view text) {
  if (JsonPieces::is_plain(text)) {
    ((out += '"') += text) += '"';
    return;
  }
  add_escaped_text(text, [&](std::string_view piece) { out += piece; });
}

void JsonPieces::add_escaped(std::string_view text) {
  add_escaped_text(text, [this](std::string_view piece) { add(piece); });
}

void append_json_real(std::string& out, double number) {
  if (!std::isfinite(number))
    out += "null";  // JSON has no such number
  else if (number == std::floor(number) && std::fabs(number) < 1e15)
    out += fmt::format("{:.1f}", number);
  else
    out += fmt::format("{}", number);
}

}  // namespace nomad
