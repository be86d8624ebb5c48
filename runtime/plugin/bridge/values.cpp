#include "runtime/plugin/bridge/values.hpp"

#include <bit>
#include <cstdint>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace nomad::plugin::bridge {
namespace {

/// Big-endian, the last `bytes` of the number.
void put(std::string& out, std::uint64_t number, unsigned bytes) {
  for (unsigned left = bytes; left > 0; --left)
    out.push_back(static_cast<char>(number >> (8 * (left - 1))));
}

void put_head(std::string& out, unsigned char head, std::uint64_t number, unsigned bytes) {
  out.push_back(static_cast<char>(head));
  put(out, number, bytes);
}

void put_integer(std::string& out, std::int64_t number) {
  if (number >= 0 && number < 128) return out.push_back(static_cast<char>(number));
  if (number < 0 && number >= -32) return out.push_back(static_cast<char>(number));
  put_head(out, 0xd3, static_cast<std::uint64_t>(number), 8);
}

void put_number(std::string& out, const hcl::Number& number) {
  if (const auto whole = number.to_int64()) return put_integer(out, *whole);
  if (const auto whole = number.to_uint64()) return put_head(out, 0xcf, *whole, 8);
  put_head(out, 0xcb, std::bit_cast<std::uint64_t>(number.to_double()), 8);
}

void put_text(std::string& out, std::string_view text) {
  if (text.size() < 32)
    out.push_back(static_cast<char>(0xa0 | text.size()));
  else if (text.size() < 256)
    put_head(out, 0xd9, text.size(), 1);
  else if (text.size() < 65536)
    put_head(out, 0xda, text.size(), 2);
  else
    put_head(out, 0xdb, text.size(), 4);
  out += text;
}

/// Of an array (fixed form 0x90, 0xdc, 0xdd) or a map (0x80, 0xde, 0xdf).
void put_size(std::string& out, std::size_t size, unsigned char fixed, unsigned char wide) {
  if (size < 16)
    out.push_back(static_cast<char>(fixed | size));
  else if (size < 65536)
    put_head(out, wide, size, 2);
  else
    put_head(out, static_cast<unsigned char>(wide + 1), size, 4);
}

void put_value(std::string& out, const hcl::Value& value) {
  if (value.is_bool()) return out.push_back(static_cast<char>(value.as_bool() ? 0xc3 : 0xc2));
  if (value.is_number()) return put_number(out, value.as_number());
  if (value.is_string()) return put_text(out, value.as_string());
  if (value.is_sequence()) {
    put_size(out, value.elements().size(), 0x90, 0xdc);
    for (const auto& each : value.elements())
      put_value(out, each);
    return;
  }
  if (value.is_mapping()) {
    put_size(out, value.entries().size(), 0x80, 0xde);
    for (const auto& [key, each] : value.entries()) {
      put_text(out, key);
      put_value(out, each);
    }
    return;
  }
  out.push_back(static_cast<char>(0xc0));
}

}  // namespace

hcl::Value value_of(const boost::json::value& json) {
  if (const auto* const flag = json.if_bool()) return hcl::Value::boolean(*flag);
  if (const auto* const whole = json.if_int64()) return hcl::Value::number(hcl::Number{*whole});
  if (const auto* const whole = json.if_uint64())
    return hcl::Value::number(hcl::Number::parse(std::to_string(*whole)).value_or(hcl::Number{}));
  if (const auto* const real = json.if_double())
    return hcl::Value::number(hcl::Number::from_double(*real));
  if (const auto* const text = json.if_string())
    return hcl::Value::string({text->data(), text->size()});
  if (const auto* const list = json.if_array()) {
    hcl::Value::Elements elements;
    for (const auto& each : *list)
      elements.push_back(value_of(each));
    return hcl::Value::tuple(std::move(elements));
  }
  if (const auto* const object = json.if_object()) {
    hcl::Value::Entries entries;
    for (const auto& each : *object)
      entries.emplace_back(std::string{each.key()}, value_of(each.value()));
    return hcl::Value::object(std::move(entries));
  }
  return hcl::Value::null();
}

std::string to_msgpack(const hcl::Value& value) {
  std::string out;
  put_value(out, value);
  return out;
}

}  // namespace nomad::plugin::bridge
