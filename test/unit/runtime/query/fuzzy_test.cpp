#include "runtime/query/fuzzy.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using nomad::query::FuzzyMatches;

namespace {

/// Offers names of one kind, each of which is in itself.
std::string found(FuzzyMatches& matches, std::initializer_list<std::string> names) {
  for (const auto& name : names)
    matches.offer("jobs", name, [&] { return std::vector{name}; });
  std::vector<std::string> ids;
  auto kinds = matches.take();
  for (const auto& match : kinds["jobs"]) {
    CHECK(match.scope == std::vector{match.id});
    ids.push_back(match.id);
  }
  return fmt::format("{}", fmt::join(ids, " "));
}

}  // namespace

TEST_CASE("fuzzy: a name is found by any part of it, whatever the case") {
  FuzzyMatches matches{"WeB", 10};
  CHECK(found(matches, {"cobweb", "WEBSITE", "we-b", "Web", ""}) == "Web WEBSITE cobweb");
}

TEST_CASE("fuzzy: the earliest is the best, then the shortest, then the alphabet's first") {
  FuzzyMatches matches{"a", 10};
  CHECK(found(matches, {"ba", "abc", "aab", "a", "bca", "aa"}) == "a aa aab abc ba bca");
}

TEST_CASE("fuzzy: letters of all languages have a case") {
  FuzzyMatches matches{"ÄR", 10};
  CHECK(found(matches, {"bär", "bar"}) == "bär");
}

TEST_CASE("fuzzy: what is over the bound is told as missing") {
  FuzzyMatches matches{"a", 2};
  CHECK(found(matches, {"ca", "ba", "a"}) == "ba ca");
  CHECK(matches.truncations().at("jobs"));
}

TEST_CASE("fuzzy: as many as the bound are all") {
  FuzzyMatches matches{"a", 2};
  matches.searched("jobs");
  CHECK(found(matches, {"a", "b", "ba"}) == "a ba");
  CHECK_FALSE(matches.truncations().at("jobs"));
  matches.cut("jobs");
  matches.searched("jobs");
  CHECK(matches.truncations().at("jobs"));
}
