#include <string>

#include <doctest/doctest.h>

#include "runtime/access/caller.hpp"

using nomad::access::Boxed;
using nomad::access::Caller;

TEST_CASE("a rare value is there or not, and copies are their own") {
  Boxed<std::string> empty;
  CHECK_FALSE(empty);
  CHECK_FALSE(empty.has_value());

  Boxed<std::string> text = std::string{"one"};
  REQUIRE(text);
  CHECK(*text == "one");
  auto copy = text;
  *copy = "two";
  CHECK(*text == "one");
  CHECK(copy->size() == 3);

  copy = text;
  CHECK(*copy == "one");
  const auto& same = copy;
  copy = same;
  CHECK(*copy == "one");
  copy = empty;
  CHECK_FALSE(copy);
  copy = std::move(text);
  CHECK(*copy == "one");
  CHECK_FALSE(text);
  copy = {};
  CHECK_FALSE(copy);
}

TEST_CASE("what nobody knows of a caller takes little room") {
  CHECK(sizeof(Caller) <= sizeof(std::string) + 7 * sizeof(void*));  // limits are two
}
