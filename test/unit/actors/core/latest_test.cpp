#include "actors/core/latest.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("latest: copies share the value, also those of one that was moved from") {
  actor::Latest<std::string> writer;
  const auto reader = writer;
  CHECK(reader.get().empty());
  writer.set("one");
  CHECK(reader.get() == "one");

  const auto moved = std::move(writer);
  writer.set("two");

  CHECK(moved.get() == "two");
  CHECK(reader.get() == "two");
}
