// DeviceAttribute: a typed value of a device ("memory" = 11 GiB) or of a constraint on one, and how
// two of them compare.
//
// May depend on: runtime/object. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "schema/node.capnp.h"

namespace nomad::scheduler {

class DeviceAttribute {
public:
  /// A text that is taken as it is.
  static DeviceAttribute of_text(std::string_view text) { return {std::string{text}, {}}; }

  /// Reads one side of a constraint: "11 GiB", "1.5", "true"; a text if it is nothing else.
  static DeviceAttribute parse(std::string_view text);

  /// As a node's row has it, `{"Int":11,"Unit":"GiB"}`: `device_attributes` reads it.
  std::string json() const;

  /// The text, if it is one.
  const std::string* text() const { return std::get_if<std::string>(&value_); }

  /// As a constraint on versions reads it: a text or a whole number; nothing for others.
  std::optional<std::string> version() const;

  /// Negative, zero or positive as `a` is less than, equal to or more than `b`; nothing when their
  /// kinds or units don't compare. Truth values are equal or not: 0 or 1.
  static std::optional<int> compare(const DeviceAttribute& a, const DeviceAttribute& b);

private:
  friend std::map<std::string, DeviceAttribute, std::less<>> device_attributes(
      schema::NodeDeviceGroup::Reader group);

  using Value = std::variant<std::int64_t, double, bool, std::string>;

  DeviceAttribute(Value value, std::string_view unit) : value_{std::move(value)}, unit_{unit} {}

  /// In the base unit; nothing if this is no number.
  std::optional<long double> number() const;

  Value value_;
  std::string unit_;  ///< Of a number; empty if it has none.
};

using DeviceAttributes = std::map<std::string, DeviceAttribute, std::less<>>;

/// The attributes that the group's node tells of it. One that can't be read is left out.
DeviceAttributes device_attributes(schema::NodeDeviceGroup::Reader group);

}  // namespace nomad::scheduler
