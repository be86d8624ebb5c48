#include "runtime/security/variable_items.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::security;

TEST_CASE("items: come back sorted, the later of two equal keys counts") {
  const auto encoded = encode_items({{"b", "1"}, {"a", ""}, {"b", "2"}, {"", "empty key"}});

  const auto items = decode_items(encoded);

  REQUIRE(items.has_value());
  CHECK(*items == Items{{"", "empty key"}, {"a", ""}, {"b", "2"}});
  CHECK(size_of(*items) == 12);
  CHECK(decode_items(Secret{})->empty());
}

TEST_CASE("items: an encoding that is cut short is refused") {
  const auto whole = encode_items({{"key", "value"}});

  for (std::size_t size = 1; size < whole.size(); ++size)
    CHECK(decode_items(Secret::copy_of(whole.bytes().first(size))).error()
          == Error{Errc::corrupt, "the items of a variable are cut short"});
}

TEST_CASE("items: the last value may be empty") {
  CHECK(*decode_items(encode_items({{"key", ""}})) == Items{{"key", ""}});
}

TEST_CASE("items: every byte of a length counts") {
  for (const std::size_t at : {0, 1, 2, 3}) {
    std::string encoded(8, '\0');
    encoded[at] = 1;  // of a key that is not there
    CHECK(decode_items(Secret::copy_of(encoded)).has_error());
  }
}
