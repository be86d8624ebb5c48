#include "runtime/scheduler/placement/device_attribute.hpp"

#include <boost/json.hpp>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::scheduler {
namespace {

enum class Base : std::uint8_t { byte, byte_rate, hertz, milliwatt };

struct Unit {
  std::string_view name;
  Base base;
  long double factor;
};

constexpr long double kibi = 1024;
constexpr long double kilo = 1000;

constexpr long double power(long double base, int exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/// A name that ends another one comes after it.
constexpr Unit units[] = {
    {"KiB/s", Base::byte_rate, kibi},
    {"MiB/s", Base::byte_rate, power(kibi, 2)},
    {"GiB/s", Base::byte_rate, power(kibi, 3)},
    {"TiB/s", Base::byte_rate, power(kibi, 4)},
    {"PiB/s", Base::byte_rate, power(kibi, 5)},
    {"EiB/s", Base::byte_rate, power(kibi, 6)},
    {"kB/s", Base::byte_rate, kilo},
    {"KB/s", Base::byte_rate, kilo},
    {"MB/s", Base::byte_rate, power(kilo, 2)},
    {"GB/s", Base::byte_rate, power(kilo, 3)},
    {"TB/s", Base::byte_rate, power(kilo, 4)},
    {"PB/s", Base::byte_rate, power(kilo, 5)},
    {"EB/s", Base::byte_rate, power(kilo, 6)},
    {"KiB", Base::byte, kibi},
    {"MiB", Base::byte, power(kibi, 2)},
    {"GiB", Base::byte, power(kibi, 3)},
    {"TiB", Base::byte, power(kibi, 4)},
    {"PiB", Base::byte, power(kibi, 5)},
    {"EiB", Base::byte, power(kibi, 6)},
    {"MHz", Base::hertz, power(kilo, 2)},
    {"GHz", Base::hertz, power(kilo, 3)},
    {"kB", Base::byte, kilo},
    {"KB", Base::byte, kilo},
    {"MB", Base::byte, power(kilo, 2)},
    {"GB", Base::byte, power(kilo, 3)},
    {"TB", Base::byte, power(kilo, 4)},
    {"PB", Base::byte, power(kilo, 5)},
    {"EB", Base::byte, power(kilo, 6)},
    {"mW", Base::milliwatt, 1},
    {"kW", Base::milliwatt, power(kilo, 2)},
    {"MW", Base::milliwatt, power(kilo, 3)},
    {"GW", Base::milliwatt, power(kilo, 4)},
    {"W", Base::milliwatt, kilo},
};

const Unit* find_unit(std::string_view name) {
  for (const auto& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

std::string_view unit_at_end(std::string_view text) {
  for (const auto& unit : units) {
    if (text.ends_with(unit.name)) return unit.name;
  }
  return {};
}

std::optional<bool> truth_value(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

template <class Value>
int order(const Value& a, const Value& b) {
  if (a < b) return -1;
  return b < a ? 1 : 0;
}

}  // namespace

DeviceAttribute DeviceAttribute::parse(std::string_view text) {
  const auto unit = unit_at_end(text);
  const auto digits = trim(text.substr(0, text.size() - unit.size()));
  const auto numeric = unit.empty() ? text : digits;
  if (const auto whole = signed_number<std::int64_t>(numeric)) return {*whole, unit};
  if (const auto fraction = signed_number<double>(numeric)) return {*fraction, unit};
  if (const auto truth = truth_value(text)) return {*truth, {}};
  return of_text(text);
}

std::optional<std::string> DeviceAttribute::version() const {
  if (const auto* own = text()) return *own;
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return std::to_string(*whole);
  return std::nullopt;
}

std::optional<long double> DeviceAttribute::number() const {
  long double plain = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value_))
    plain = static_cast<long double>(*whole);
  else if (const auto* fraction = std::get_if<double>(&value_))
    plain = static_cast<long double>(*fraction);
  else
    return std::nullopt;
  const auto* unit = find_unit(unit_);
  return unit == nullptr ? plain : plain * unit->factor;
}

std::optional<int> DeviceAttribute::compare(const DeviceAttribute& a, const DeviceAttribute& b) {
  const auto* unit_a = find_unit(a.unit_);
  const auto* unit_b = find_unit(b.unit_);
  if ((unit_a == nullptr) != (unit_b == nullptr)) return std::nullopt;
  if (unit_a != nullptr && unit_a->base != unit_b->base) return std::nullopt;
  const auto number_a = a.number();
  const auto number_b = b.number();
  if (number_a && number_b) return order(*number_a, *number_b);
  if (a.value_.index() != b.value_.index()) return std::nullopt;
  if (a.text() != nullptr) return order(*a.text(), *b.text());
  return a.value_ == b.value_ ? 0 : 1;
}

std::string DeviceAttribute::json() const {
  boost::json::object made;
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) made["Int"] = *whole;
  if (const auto* number = std::get_if<double>(&value_)) made["Float"] = *number;
  if (const auto* truth = std::get_if<bool>(&value_)) made["Bool"] = *truth;
  if (const auto* text = std::get_if<std::string>(&value_)) made["String"] = *text;
  if (!unit_.empty()) made["Unit"] = unit_;
  return boost::json::serialize(made);
}

DeviceAttributes device_attributes(schema::NodeDeviceGroup::Reader group) {
  DeviceAttributes attributes;
  if (group.getAttributes().size() == 0) return attributes;
  const auto parsed = parse_json(view(group.getAttributes()));
  if (!parsed || !parsed->is_object()) return attributes;
  for (const auto& [name, value] : parsed->get_object()) {
    const auto* fields = value.if_object();
    if (fields == nullptr) continue;
    std::string_view unit;
    if (const auto* given = fields->if_contains("Unit"); given != nullptr && given->is_string())
      unit = given->get_string();
    const auto put = [&, &name = name](DeviceAttribute::Value found) {
      attributes.emplace(std::string{name}, DeviceAttribute{std::move(found), unit});
    };
    if (const auto* whole = fields->if_contains("Int"); whole != nullptr && whole->is_int64())
      put(whole->get_int64());
    else if (const auto* number = fields->if_contains("Float");
             number != nullptr && number->is_number())
      put(number->to_number<double>());
    else if (const auto* truth = fields->if_contains("Bool"); truth != nullptr && truth->is_bool())
      put(truth->get_bool());
    else if (const auto* text = fields->if_contains("String"); text != nullptr && text->is_string())
      put(std::string{std::string_view{text->get_string()}});
  }
  return attributes;
}

}  // namespace nomad::scheduler
