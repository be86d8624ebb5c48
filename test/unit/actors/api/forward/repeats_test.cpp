// actors/api/forward/repeats.hpp
#include "actors/api/forward/repeats.hpp"

#include <doctest/doctest.h>

using namespace nomad::api;
using namespace std::chrono_literals;

namespace {

constexpr Repeats::Time start{1h};

}  // namespace

TEST_CASE("repeats: what changes something, and may have, is not sent again") {
  Repeats write{false, start};
  CHECK_FALSE(write.may_repeat(start));
  CHECK_FALSE(write.may_repeat(start + 1h));
  CHECK(write.has_time(start + Repeats::hold));
  CHECK_FALSE(write.has_time(start + Repeats::hold + 1ms));
}

TEST_CASE("repeats: a read is sent again, but not to one server after the other") {
  Repeats read{true, start};
  CHECK(read.may_repeat(start + 1s));
  CHECK_FALSE(read.may_repeat(start + 1s + Repeats::hold - 1ms));
}

TEST_CASE("repeats: a read that waits for long outlives one lost connection after the other") {
  Repeats read{true, start};
  CHECK(read.may_repeat(start + 10min));
  CHECK(read.has_time(start + 10min + Repeats::hold));
  CHECK(read.may_repeat(start + 10min + Repeats::hold));
  CHECK(read.may_repeat(start + 20min));
  CHECK_FALSE(read.has_time(start + 20min + Repeats::hold + 1ms));
}
