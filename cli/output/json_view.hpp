// Reading the API's JSON without caring what is absent: an absent member reads as null, and null
// as "", 0, false or nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

namespace nomad::cli {

/// A value somewhere in an answer; refers to it.
class View {
public:
  View() = default;

  explicit View(const boost::json::value& value) : value_{&value} {}

  /// The member `name` of an object; null for anything else.
  View operator[](std::string_view name) const;

  std::string text() const;     ///< Also numbers and booleans, as JSON writes them.
  std::int64_t number() const;  ///< Whole part.
  double real() const;
  bool truth() const;
  bool is_null() const;

  std::vector<View> items() const;                            ///< Of an array.
  std::vector<std::pair<std::string, View>> members() const;  ///< Of an object, sorted by name.

  const boost::json::value* raw() const { return value_; }

private:
  const boost::json::value* value_ = nullptr;
};

}  // namespace nomad::cli
