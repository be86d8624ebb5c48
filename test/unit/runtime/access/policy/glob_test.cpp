#include "runtime/access/policy/glob.hpp"

#include <string>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using namespace nomad;
using namespace nomad::access;

namespace {

/// By the meaning alone: a `*` stands for nothing, or for one character and more.
bool matches_slowly(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*')
    return matches_slowly(pattern.substr(1), name)
           || (!name.empty() && matches_slowly(pattern, name.substr(1)));
  return !name.empty() && name.front() == pattern.front()
         && matches_slowly(pattern.substr(1), name.substr(1));
}

std::string text_over(Random& random, std::string_view letters, std::size_t most) {
  std::string out;
  for (auto size = random.below(most + 1); size > 0; --size)
    out += letters[random.below(letters.size())];
  return out;
}

}  // namespace

TEST_CASE("glob: a star stands for any characters, also for none") {
  CHECK(glob_matches("", ""));
  CHECK_FALSE(glob_matches("", "a"));
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("prod-*", "prod-"));
  CHECK(glob_matches("prod-*", "prod-api"));
  CHECK_FALSE(glob_matches("prod-*", "prod"));
  CHECK_FALSE(glob_matches("prod-*", "my-prod-api"));
  CHECK(glob_matches("*-api", "prod-api"));
  CHECK(glob_matches("a*b*c", "abbc"));
  CHECK_FALSE(glob_matches("a*aa", "aa"));
  CHECK(glob_matches("a**b", "ab"));
  CHECK_FALSE(glob_matches("a", "A"));
  CHECK(literal_size("a**b*") == 2);
  CHECK(literal_size("") == 0);
  CHECK_FALSE(is_glob("a"));
}

TEST_CASE("glob: it matches what the definition matches") {
  const std::uint64_t seed = 20261129;
  CAPTURE(seed);
  Random random{seed};
  for (int round = 0; round < 100'000; ++round) {
    const auto pattern = text_over(random, "ab*", 7);
    const auto name = text_over(random, "ab", 8);
    CAPTURE(pattern);
    CAPTURE(name);
    REQUIRE(glob_matches(pattern, name) == matches_slowly(pattern, name));
  }
}
