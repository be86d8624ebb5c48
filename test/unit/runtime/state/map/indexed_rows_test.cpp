#include "runtime/state/map/indexed_rows.hpp"

#include <string>

#include <doctest/doctest.h>

#include "runtime/state/map/shared.hpp"

using nomad::state::IndexedRows;
using nomad::state::Nothing;
using nomad::state::PersistentMap;
using nomad::state::Shared;

namespace {

using Row = Shared<std::string>;

/// Rows under their ids, and an index of "<color>.<id>".
struct Colors {
  PersistentMap<Row> rows;
  PersistentMap<Nothing> keys;

  void add(const std::string& color, const std::string& id) {
    rows.insert_or_assign(id, Row::make("row " + id));
    keys.insert_or_assign(color + '.' + id, {});
  }

  IndexedRows<Row> index() const {
    return {keys, rows, [](std::string_view key) { return key.substr(key.find('.') + 1); }};
  }
};

template <class Range>
std::string read(const Range& range) {
  std::string out;
  for (const auto& entry : range)
    out += std::string{entry.key()} + '=' + *entry.value() + ' ';
  return out;
}

}  // namespace

TEST_CASE("IndexedRows: reads rows in the order of the index's keys") {
  Colors colors;
  colors.add("red", "1");
  colors.add("blue", "2");
  colors.add("red", "0");
  const auto index = colors.index();

  CHECK(index.size() == 3);
  CHECK(read(index.all()) == "blue.2=row 2 red.0=row 0 red.1=row 1 ");
  CHECK(read(index.prefix("red.")) == "red.0=row 0 red.1=row 1 ");
  CHECK(read(index.range("blue.", "red.1")) == "blue.2=row 2 red.0=row 0 ");
  CHECK(index.prefix("green.").empty());
}

TEST_CASE("IndexedRows: a cursor walks both ways, each time with its own row") {
  Colors colors;
  colors.add("red", "1");
  colors.add("red", "2");
  const auto index = colors.index();

  auto cursor = index.last();
  CHECK(*cursor.value() == "row 2");
  cursor.previous();
  CHECK(*cursor.value() == "row 1");
  cursor.next();
  CHECK(*cursor.value() == "row 2");
  CHECK(cursor == index.lower_bound("red.2"));
  CHECK(*index.before("red.2").value() == "row 1");
  cursor.next();
  CHECK_FALSE(cursor.valid());
}

TEST_CASE("IndexedRows: a row that changed is read as it is now") {
  Colors colors;
  colors.add("red", "1");
  const auto index = colors.index();

  colors.rows.insert_or_assign("1", Row::make("another"));
  CHECK(read(index.all()) == "red.1=another ");
}
