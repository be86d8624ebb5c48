// The writing half of the JSON codec.
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/base/base64.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/object/plan.hpp"

namespace nomad {
namespace {

using object::FieldPlan;
using object::Shape;
using object::Slot;
using object::StructPlan;
using object::ValuePlan;
using Pointer = capnp::AnyPointer::Reader;

/// A struct as it lies in memory: values are found by their places in the plan, which costs a
/// fraction of what asking the schema for each field does.
class Sections {
public:
  explicit Sections(capnp::AnyStruct::Reader from)
      : data_{from.getDataSection()}, pointers_{from.getPointerSection()} {}

  /// The bits of a scalar, a signed one extended; what is not stored is 0.
  std::uint64_t scalar(const Slot& slot) const {
    if (slot.bits == 1) {
      const auto byte = slot.offset / 8;
      return byte < data_.size() ? (data_[byte] >> (slot.offset % 8)) & 1U : 0;
    }
    const std::size_t size = slot.bits / 8;
    const std::size_t at = slot.offset * size;
    if (at + size > data_.size()) return 0;
    std::uint64_t bits = 0;
    std::memcpy(&bits, data_.begin() + at, size);
    if (!slot.is_signed) return bits;
    const unsigned unused = 64U - slot.bits;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
  }

  Pointer pointer(const Slot& slot) const {
    return slot.offset < pointers_.size() ? pointers_[slot.offset] : Pointer{};
  }

  bool is_null(const Slot& slot) const {
    return slot.offset >= pointers_.size() || pointers_[slot.offset].isNull();
  }

  /// Whether an optional has a value.
  bool is_given(const FieldPlan& field) const {
    return scalar(field.tag) == field.given && (!field.slot.is_pointer() || !is_null(field.slot));
  }

private:
  capnp::Data::Reader data_;
  capnp::List<capnp::AnyPointer>::Reader pointers_;
};

void append_struct(std::string& out, capnp::AnyStruct::Reader object, const StructPlan& plan);
void append_pointer(std::string& out, const Pointer& value, const ValuePlan& plan);

void append_base64(std::string& out, capnp::Data::Reader data) {
  if (data.size() == 0) {
    out += "null";
    return;
  }
  out += '"';
  out += encode_base64({reinterpret_cast<const char*>(data.begin()), data.size()});
  out += '"';
}

std::string_view text_of(const Pointer& value) {
  const auto text = value.getAs<capnp::Text>();
  return {text.begin(), text.size()};
}

void append_number(std::string& out, auto number) {
  const fmt::format_int digits{number};
  out.append(digits.data(), digits.size());
}

double real_of(std::uint64_t bits, const Slot& slot) {
  return slot.bits == 32
             ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
             : std::bit_cast<double>(bits);
}

/// What JSON calls the values of an enum; looked up once per thread.
const std::vector<std::string_view>& names_of(const ValuePlan& plan) {
  static thread_local std::unordered_map<const ValuePlan*, std::vector<std::string_view>> known;
  auto& names = known[&plan];
  if (names.empty())
    for (const auto enumerant : plan.type.asEnum().getEnumerants())
      names.push_back(object::json_name(enumerant));
  return names;
}

/// Empty for one that a newer release wrote.
std::string_view name_of(std::uint64_t value, const ValuePlan& plan) {
  const auto& names = names_of(plan);
  return value < names.size() ? names[value] : std::string_view{};
}

void append_scalar(std::string& out, std::uint64_t bits, const Slot& slot, const ValuePlan& plan) {
  switch (plan.shape) {
    case Shape::boolean:
      out += bits != 0 ? "true" : "false";
      return;
    case Shape::duration:
    case Shape::signed_number:
      return append_number(out, static_cast<std::int64_t>(bits));
    case Shape::real:
      return append_json_real(out, real_of(bits, slot));
    case Shape::timestamp:
      if (bits == 0)
        out += "null";
      else
        out += '"' + format_rfc3339(static_cast<std::int64_t>(bits)) + '"';
      return;
    case Shape::enumeration:
      if (bits >= names_of(plan).size()) {
        out += "null";
        return;
      }
      (out += '"') += name_of(bits, plan);
      out += '"';
      return;
    default:
      return append_number(out, bits);
  }
}

/// A list of what is no struct and no text: of few elements, so the schema may be asked.
void append_scalars(std::string& out, const Pointer& value, const ValuePlan& plan) {
  const auto list = value.getAs<capnp::DynamicList>(plan.type.asList());
  const auto& element = *plan.element;
  bool is_first = true;
  for (const auto each : list) {
    if (!std::exchange(is_first, false)) out += ',';
    switch (element.shape) {
      case Shape::boolean:
        out += each.as<bool>() ? "true" : "false";
        break;
      case Shape::real:
        append_json_real(out, each.as<double>());
        break;
      case Shape::base64:
        append_base64(out, each.as<capnp::Data>());
        break;
      case Shape::enumeration:
        append_scalar(out, each.as<capnp::DynamicEnum>().getRaw(), {}, element);
        break;
      case Shape::unsigned_number:
        append_number(out, each.as<std::uint64_t>());
        break;
      default:
        append_number(out, each.as<std::int64_t>());
    }
  }
}

void append_list(std::string& out, const Pointer& value, const ValuePlan& plan) {
  out += '[';
  bool is_first = true;
  if (plan.element->shape == Shape::object) {
    for (const auto each : value.getAs<capnp::AnyList>().as<capnp::List<capnp::AnyStruct>>()) {
      if (!std::exchange(is_first, false)) out += ',';
      append_struct(out, each, *plan.element->fields);
    }
  } else if (plan.element->shape == Shape::text) {
    for (const auto each : value.getAs<capnp::List<capnp::Text>>()) {
      if (!std::exchange(is_first, false)) out += ',';
      append_json_text(out, {each.begin(), each.size()});
    }
  } else {
    append_scalars(out, value, plan);
  }
  out += ']';
}

void append_map(std::string& out, const Pointer& value, const ValuePlan& plan) {
  out += '{';
  const auto& key = plan.fields->at("Key");
  const auto& content = plan.fields->at("Value");
  bool is_first = true;
  for (const auto each : value.getAs<capnp::AnyList>().as<capnp::List<capnp::AnyStruct>>()) {
    if (!std::exchange(is_first, false)) out += ',';
    const Sections entry{each};
    append_json_text(out, text_of(entry.pointer(key.slot)));
    out += ':';
    if (!content.slot.is_pointer())
      append_scalar(out, entry.scalar(content.slot), content.slot, *plan.element);
    else if (plan.element->shape == Shape::object && entry.is_null(content.slot))
      out += "null";
    else
      append_pointer(out, entry.pointer(content.slot), *plan.element);
  }
  out += '}';
}

void append_pointer(std::string& out, const Pointer& value, const ValuePlan& plan) {
  switch (plan.shape) {
    case Shape::text:
      return append_json_text(out, text_of(value));
    case Shape::secret_text:
      out += "\"\"";
      return;
    case Shape::raw_json: {
      const auto json = text_of(value);
      out += json.empty() ? "null" : json;
      return;
    }
    case Shape::base64:
      return append_base64(out, value.getAs<capnp::Data>());
    case Shape::object:
      return append_struct(out, value.getAs<capnp::AnyStruct>(), *plan.fields);
    case Shape::list:
      return append_list(out, value, plan);
    case Shape::map:
      return append_map(out, value, plan);
    default:
      out += "null";  // no schema of ours has such a field
  }
}

bool is_pointer(Shape shape) {
  return shape == Shape::object || shape == Shape::list || shape == Shape::map;
}

/// Whether Go's encoder would leave the value out of a field marked `omitempty`.
bool is_empty(const Sections& object, const FieldPlan& field) {
  const auto& slot = field.slot;
  switch (field.value.shape) {
    case Shape::optional:
      return !object.is_given(field);
    case Shape::text:
    case Shape::secret_text:
    case Shape::raw_json:
      return text_of(object.pointer(slot)).empty();
    case Shape::base64:
      return object.pointer(slot).getAs<capnp::Data>().size() == 0;
    case Shape::object:
      return object.is_null(slot);
    case Shape::list:
    case Shape::map:
      return object.is_null(slot) || object.pointer(slot).getAs<capnp::AnyList>().size() == 0;
    case Shape::enumeration:
      return name_of(object.scalar(slot), field.value).empty();
    case Shape::real:
      return real_of(object.scalar(slot), slot) == 0;  // minus zero, too
    default:
      return object.scalar(slot) == 0;
  }
}

void append_field(std::string& out, const Sections& object, const FieldPlan& field) {
  const auto& slot = field.slot;
  const bool is_optional = field.value.shape == Shape::optional;
  if (is_optional && !object.is_given(field)) {
    out += "null";
    return;
  }
  const auto& value = is_optional ? *field.value.element : field.value;
  if (!slot.is_pointer())
    append_scalar(out, object.scalar(slot), slot, value);
  else if (is_pointer(value.shape) && !field.always && object.is_null(slot))
    out += "null";
  else
    append_pointer(out, object.pointer(slot), value);
}

void append_members(std::string& out, const Sections& object, const StructPlan& plan) {
  bool is_first = true;
  for (const FieldPlan& field : plan.fields) {
    if (field.hidden || (field.omit_empty && !field.always && is_empty(object, field))) continue;
    if (!std::exchange(is_first, false)) out += ',';
    out += field.quoted_name;
    append_field(out, object, field);
  }
}

void append_struct(std::string& out, capnp::AnyStruct::Reader object, const StructPlan& plan) {
  out += '{';
  append_members(out, Sections{object}, plan);
  out += '}';
}

}  // namespace

void append_json(std::string& out, capnp::DynamicStruct::Reader object) {
  append_struct(out, object, object::plan_of(object.getSchema()));
}

void append_json_members(std::string& out, capnp::DynamicStruct::Reader object) {
  append_members(out, Sections{object}, object::plan_of(object.getSchema()));
}

void append_json_text(std::string& out, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  out += '"';
  std::size_t written = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, written, i - written);
    written = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += digits[c >> 4];
        out += digits[c & 0xf];
    }
  }
  out.append(text, written, text.size() - written);
  out += '"';
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
