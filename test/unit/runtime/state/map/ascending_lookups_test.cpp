#include "runtime/state/map/ascending_lookups.hpp"

#include <string>

#include <doctest/doctest.h>

#include "runtime/state/map/persistent_map.hpp"
#include "runtime/state/map/shared.hpp"

using nomad::state::AscendingLookups;
using nomad::state::PersistentMap;
using nomad::state::Shared;

TEST_CASE("ascending_lookups: finds what a look-up finds, in whatever order it is asked") {
  using Row = Shared<std::string>;
  PersistentMap<Row> rows;
  for (int i = 0; i < 1000; i += 2)
    rows.insert_or_assign(std::to_string(1000 + i), Row::make("row " + std::to_string(i)));
  AscendingLookups lookups{rows};
  const auto check = [&](int i) {
    const auto key = std::to_string(1000 + i);
    REQUIRE(lookups.find(key) == rows.find(key));
  };

  for (int i = 0; i < 1000; ++i)
    check(i);
  for (int i = 998; i >= 0; i -= 2)
    check(i);
  for (int i = 0; i < 1000; ++i)
    check(i * 7919 % 1000);
  check(500);
  check(500);
  CHECK(lookups.find("") == nullptr);
  CHECK(lookups.find("9") == nullptr);
  const PersistentMap<Row> none;
  CHECK(AscendingLookups{none}.find("1") == nullptr);
}
