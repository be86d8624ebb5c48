// Names of stored tables and keys.
#include "runtime/state/table.hpp"

#include <set>

#include <doctest/doctest.h>

#include "runtime/state/kinds/kinds.hpp"

namespace nomad::state {

TEST_CASE("Table: each stored table has a name of its own, by which it is found") {
  std::set<std::string_view> names;
  for (std::uint32_t i = 0; i < stored_tables; ++i) {
    const auto table = static_cast<Table>(i);
    CAPTURE(i);
    CHECK_FALSE(to_string(table).empty());
    CHECK(names.insert(to_string(table)).second);
    CHECK(stored_table(to_string(table)) == table);
  }
  CHECK(to_string(Table::allocs_by_node).empty());  // watched, not stored
  CHECK_FALSE(stored_table("").has_value());
  CHECK_FALSE(stored_table("job").has_value());
}

TEST_CASE("Table: keys of numbers sort like them, and parts of keys don't run together") {
  CHECK(number_key(0) < number_key(1));
  CHECK(number_key(255) < number_key(256));
  CHECK(number_key(~std::uint64_t{0} - 1) < number_key(~std::uint64_t{0}));
  CHECK(number_key(1).size() == 8);
  CHECK(join_key("ab", "c") != join_key("a", "bc"));
  CHECK(join_key("a", "") < join_key("a", "b"));
  CHECK(join_key("a", "b", "c") == join_key(join_key("a", "b"), "c"));
}

}  // namespace nomad::state
