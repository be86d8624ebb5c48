#include "runtime/access/capability.hpp"

#include <doctest/doctest.h>

using namespace nomad::access;

TEST_CASE("capability: every one has a word of its own, by which it is found") {
  for (int number = 1; number <= static_cast<int>(Capability::management); ++number) {
    const auto capability = static_cast<Capability>(number);
    CAPTURE(number);
    CHECK_FALSE(word_of(capability).empty());
    CHECK(capability_of(word_of(capability)) == capability);
  }
  CHECK(word_of(Capability::list_jobs) == "list-jobs");
  CHECK(word_of(Capability::any_in_namespace) == "any-in-namespace");
  CHECK(word_of(Capability::quota_write) == "quota-write");
  CHECK(word_of(Capability::management) == "management");
  CHECK(word_of(Capability::none).empty());
  CHECK_FALSE(capability_of("").has_value());
  CHECK_FALSE(capability_of("Submit-Job").has_value());
}
