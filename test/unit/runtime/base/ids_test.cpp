#include "runtime/base/ids.hpp"

#include <set>

#include <doctest/doctest.h>

TEST_CASE("ids: a UUID is of version 4, valid and new each time") {
  nomad::Random random{7};
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto id = nomad::make_uuid(random);
    REQUIRE(nomad::is_uuid(id));
    REQUIRE(id[14] == '4');
    REQUIRE(std::string{"89ab"}.find(id[19]) != std::string::npos);
    REQUIRE(seen.insert(id).second);
  }
}

TEST_CASE("ids: prefixes are judged in Nomad's words") {
  CHECK(nomad::check_uuid_prefix("").has_value());
  CHECK(nomad::check_uuid_prefix("8ba85cef").has_value());
  CHECK(nomad::check_uuid_prefix("8ba85ce").has_value());
  CHECK(nomad::check_uuid_prefix("zz").has_error());
  CHECK(nomad::check_uuid_prefix(std::string(40, 'a')).error().what
        == "Invalid UUID length: UUID have 36 characters; got 40");
  CHECK(nomad::check_uuid_prefix("a-b-c-d-e-f").error().what
        == "UUID should have maximum of 4 \"-\"; got 5");
}
