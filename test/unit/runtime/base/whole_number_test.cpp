#include "runtime/base/whole_number.hpp"

#include <cstdint>

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("whole_number: takes a text that is a number and nothing else") {
  CHECK(whole_number<int>("42") == 42);
  CHECK(whole_number<int>("-7") == -7);
  CHECK(whole_number<double>("2.5") == 2.5);

  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "--1", "0x1"})
    CHECK_MESSAGE(!whole_number<int>(text), text);
  CHECK_FALSE(whole_number<std::uint8_t>("256"));
  CHECK_FALSE(whole_number<unsigned>("-1"));
}

TEST_CASE("signed_number: takes one plus sign, too") {
  CHECK(signed_number<int>("+3") == 3);
  CHECK(signed_number<int>("-3") == -3);
  CHECK_FALSE(signed_number<int>("+-3"));
  CHECK_FALSE(signed_number<int>("++3"));
  CHECK_FALSE(signed_number<int>("+"));
}
