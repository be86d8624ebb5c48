#include "runtime/base/name_table.hpp"

#include <cstdint>

#include <doctest/doctest.h>

using namespace nomad;

namespace {

enum class Fruit : std::uint8_t { apple, pear, v2 };
enum class Later : std::uint8_t { first = 1, second };

template <class Enum, std::size_t first, std::size_t size>
constexpr bool fits = detail::are_all_enumerators<Enum, first>(std::make_index_sequence<size>{});

}  // namespace

TEST_CASE("name_table: a table that leaves one out, or names too many, does not fit") {
  static_assert(fits<Fruit, 0, 3>);
  static_assert(!fits<Fruit, 0, 2>);
  static_assert(!fits<Fruit, 0, 4>);
  static_assert(fits<Later, 1, 2>);
  static_assert(!fits<Later, 0, 2>);
  static_assert(!fits<Later, 0, 3>);
}

TEST_CASE("name_table: names by value, and what is not there") {
  static constexpr std::string_view fruits[] = {"apple", "pear", "vitamins"};
  CHECK(name_in(fruits, Fruit::v2) == "vitamins");
  CHECK(name_in(fruits, static_cast<Fruit>(3), "unknown") == "unknown");
  static constexpr std::string_view names[] = {"first", "second"};
  CHECK(name_in<1>(names, Later::second) == "second");
  CHECK(name_in<1>(names, Later{}) == "");
}
