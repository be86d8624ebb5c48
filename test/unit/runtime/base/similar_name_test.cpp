#include "runtime/base/similar_name.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("similar_name: the first within two edits, and the nearest") {
  CHECK(name_suggestion("datacenter", {"name", "datacenters"}) == "datacenters");
  CHECK(name_suggestion("xyz", {"name"}).empty());
  CHECK(name_suggestion("uper", {"uppr", "upper"}) == "uppr");
  CHECK(closest_name("uper", {"supr", "upper"}) == "upper");
  CHECK(closest_name("äöü", {"äüü"}) == "äüü");
  CHECK(closest_name("abcd", {"abxy"}) == "abxy");
  CHECK(closest_word("abcd", {"abxy"}).empty());  // half of it
  CHECK(closest_word("abcde", {"abcxy"}) == "abcxy");
  CHECK(closest_word("ab", {"ax"}).empty());
  CHECK(closest_word("", {"a"}).empty());
  CHECK(closest_word("wbe", {"web"}) == "web");  // a swap is one edit
  CHECK(closest_name("bacd", {"axcd", "abcd"}) == "abcd");
  CHECK(closest_name("badc", {"abcd"}) == "abcd");
  CHECK(name_suggestion("badc", {"abcd"}).empty());
  CHECK(name_suggestion(std::string(1000, 'a'), {"a"}).empty());
}
