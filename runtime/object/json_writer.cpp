// The writing half of the JSON codec.
#include <cmath>

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
using object::StructPlan;
using object::ValuePlan;
using Dynamic = capnp::DynamicValue::Reader;

void append_struct(std::string& out, capnp::DynamicStruct::Reader object, const StructPlan& plan);

void append_base64(std::string& out, capnp::Data::Reader data) {
  if (data.size() == 0) {
    out += "null";
    return;
  }
  out += '"';
  out += encode_base64({reinterpret_cast<const char*>(data.begin()), data.size()});
  out += '"';
}

void append_value(std::string& out, const Dynamic& value, const ValuePlan& plan);

void append_map(std::string& out, capnp::DynamicList::Reader entries, const ValuePlan& plan) {
  out += '{';
  const auto key = plan.fields->schema.getFieldByName("key");
  const auto content = plan.fields->schema.getFieldByName("value");
  for (unsigned i = 0; i < entries.size(); ++i) {
    if (i != 0) out += ',';
    auto entry = entries[i].as<capnp::DynamicStruct>();
    auto name = entry.get(key).as<capnp::Text>();
    append_json_text(out, {name.begin(), name.size()});
    out += ':';
    if (plan.element->shape == Shape::object && !entry.has(content))
      out += "null";
    else
      append_value(out, entry.get(content), *plan.element);
  }
  out += '}';
}

void append_list(std::string& out, capnp::DynamicList::Reader list, const ValuePlan& plan) {
  out += '[';
  for (unsigned i = 0; i < list.size(); ++i) {
    if (i != 0) out += ',';
    append_value(out, list[i], *plan.element);
  }
  out += ']';
}

void append_number(std::string& out, auto number) {
  const fmt::format_int digits{number};
  out.append(digits.data(), digits.size());
}

void append_raw_json(std::string& out, capnp::Text::Reader json) {
  if (json.size() == 0)
    out += "null";
  else
    out.append(json.begin(), json.size());
}

void append_value(std::string& out, const Dynamic& value, const ValuePlan& plan) {
  switch (plan.shape) {
    case Shape::boolean:
      out += value.as<bool>() ? "true" : "false";
      return;
    case Shape::duration:
    case Shape::signed_number:
      append_number(out, value.as<std::int64_t>());
      return;
    case Shape::unsigned_number:
      append_number(out, value.as<std::uint64_t>());
      return;
    case Shape::real:
      append_json_real(out, value.as<double>());
      return;
    case Shape::text: {
      auto content = value.as<capnp::Text>();
      append_json_text(out, {content.begin(), content.size()});
      return;
    }
    case Shape::secret_text:
      out += "\"\"";
      return;
    case Shape::raw_json:
      append_raw_json(out, value.as<capnp::Text>());
      return;
    case Shape::base64:
      append_base64(out, value.as<capnp::Data>());
      return;
    case Shape::timestamp: {
      const auto instant = value.as<std::int64_t>();
      if (instant == 0)
        out += "null";
      else
        out += '"' + format_rfc3339(instant) + '"';
      return;
    }
    case Shape::enumeration: {
      KJ_IF_MAYBE (enumerant, value.as<capnp::DynamicEnum>().getEnumerant()) {
        (out += '"') += object::json_name(*enumerant);
        out += '"';
      } else {
        out += "null";  // written by a newer release
      }
      return;
    }
    case Shape::object:
      append_struct(out, value.as<capnp::DynamicStruct>(), *plan.fields);
      return;
    case Shape::list:
      append_list(out, value.as<capnp::DynamicList>(), plan);
      return;
    case Shape::map:
      append_map(out, value.as<capnp::DynamicList>(), plan);
      return;
    case Shape::optional: {
      auto group = value.as<capnp::DynamicStruct>();
      auto content = group.getSchema().getFieldByName("value");
      if (group.has(content, capnp::HasMode::NON_NULL))
        append_value(out, group.get(content), *plan.element);
      else
        out += "null";
      return;
    }
  }
}

/// Whether Go's encoder would leave the value out of a field marked `omitempty`.
bool is_empty(const Dynamic& value, const ValuePlan& plan) {
  switch (plan.shape) {
    case Shape::boolean:
      return !value.as<bool>();
    case Shape::duration:
    case Shape::timestamp:
    case Shape::signed_number:
      return value.as<std::int64_t>() == 0;
    case Shape::unsigned_number:
      return value.as<std::uint64_t>() == 0;
    case Shape::real:
      return value.as<double>() == 0;
    case Shape::text:
    case Shape::secret_text:
    case Shape::raw_json:
      return value.as<capnp::Text>().size() == 0;
    case Shape::base64:
      return value.as<capnp::Data>().size() == 0;
    case Shape::enumeration: {
      KJ_IF_MAYBE (enumerant, value.as<capnp::DynamicEnum>().getEnumerant())
        return object::json_name(*enumerant).empty();
      return true;
    }
    case Shape::object:
      return false;
    case Shape::list:
    case Shape::map:
      return value.as<capnp::DynamicList>().size() == 0;
    case Shape::optional: {
      auto group = value.as<capnp::DynamicStruct>();
      return !group.has("value", capnp::HasMode::NON_NULL);
    }
  }
  return false;
}

bool is_pointer(Shape shape) {
  return shape == Shape::object || shape == Shape::list || shape == Shape::map;
}

void append_members(std::string& out, capnp::DynamicStruct::Reader object, const StructPlan& plan) {
  bool is_first = true;
  for (const FieldPlan& field : plan.fields) {
    if (field.hidden) continue;
    const bool is_null = is_pointer(field.value.shape) && !object.has(field.field);
    if (field.omit_empty && !field.always
        && (is_null || is_empty(object.get(field.field), field.value)))
      continue;
    if (!is_first) out += ',';
    is_first = false;
    out += field.quoted_name;
    if (is_null && !field.always)
      out += "null";
    else
      append_value(out, object.get(field.field), field.value);
  }
}

void append_struct(std::string& out, capnp::DynamicStruct::Reader object, const StructPlan& plan) {
  out += '{';
  append_members(out, object, plan);
  out += '}';
}

}  // namespace

void append_json(std::string& out, capnp::DynamicStruct::Reader object) {
  append_struct(out, object, object::plan_of(object.getSchema()));
}

void append_json_members(std::string& out, capnp::DynamicStruct::Reader object) {
  append_members(out, object, object::plan_of(object.getSchema()));
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
