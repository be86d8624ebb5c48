// Versions and their constraints, as go-version and Nomad's semver have them.
#include "runtime/scheduler/placement/version.hpp"

#include <doctest/doctest.h>

using namespace nomad::scheduler;
using Kind = VersionConstraints::Kind;

namespace {

bool holds(const char* version, const char* constraint, Kind kind = Kind::version) {
  const auto parsed = parse_version(version);
  const auto constraints = VersionConstraints::parse(constraint, kind);
  REQUIRE(parsed.has_value());
  REQUIRE(constraints.has_value());
  return constraints->check(*parsed);
}

int order(const char* a, const char* b) {
  return compare(*parse_version(a), *parse_version(b));
}

bool refused(const char* constraint, Kind kind = Kind::version) {
  const auto parsed = VersionConstraints::parse(constraint, kind);
  return parsed.has_error() && parsed.error().what.starts_with("Malformed constraint: ");
}

}  // namespace

TEST_CASE("what is a version") {
  for (const char* good :
       {"1", "1.2", "v1.2.3", "1.2.3.4", "1.2-beta1", "1.2.0-beta+build.7", "1.2beta", "1.0-1",
        "1.0--x", "0.0.0+meta", "4.19.0-27-amd64", "1.7.0-rc.1"}) {
    CAPTURE(good);
    CHECK(parse_version(good));
  }
  for (const char* bad : {"", "v", "a", "1.", "1..2", "1.2 ", " 1.2", "1.2-a..b", "1.2+", "1.2_3",
                          "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_version(bad));
  }
  CHECK(parse_version("1.2beta")->prerelease == "beta");
  CHECK(parse_version("1.2-")->prerelease == "-");
  CHECK(parse_version("1.0--x")->prerelease == "-x");
  CHECK_FALSE(parse_semver("1.2beta"));
  CHECK_FALSE(parse_semver("1.2-"));
  CHECK(parse_semver("1.2.0-beta"));
}

TEST_CASE("versions are ordered by segments, then prereleases") {
  CHECK(order("1.2", "1.2.0") == 0);
  CHECK(order("1.2.0.0", "1.2") == 0);
  CHECK(order("1.10", "1.9") > 0);
  CHECK(order("1.2.0-beta", "1.2.0") < 0);
  CHECK(order("1.2.0-beta.2", "1.2.0-beta.11") < 0);
  CHECK(order("1.2.0-1", "1.2.0-a") < 0);
  CHECK(order("1.2.0-a", "1.2.0-a.1") < 0);
  CHECK(order("1.2.0-a", "1.2.0-a.b") > 0);  // go-version's own order of missing words
  CHECK(order("1.2.0+x", "1.2.0+y") == 0);
}

TEST_CASE("version never matches a prerelease unless the constraint has one") {
  CHECK(holds("1.3.0", ">= 1.2"));
  CHECK_FALSE(holds("1.3.0-beta1", ">= 1.2"));
  CHECK(holds("1.3.0-beta2", ">= 1.3.0-beta1"));
  CHECK_FALSE(holds("1.4.0-beta2", ">= 1.3.0-beta1"));
  CHECK(holds("1.3.0", ">= 1.3.0-beta1"));
  CHECK(holds("1.3.0-beta1", "= 1.3.0-beta1"));
  CHECK(holds("1.3.0-beta1", "!= 1.3.0"));
}

TEST_CASE("semver does match prereleases") {
  CHECK(holds("1.3.0-beta1", ">= 1.2", Kind::semver));
  CHECK(holds("1.3.0-beta1", "< 2.0.0", Kind::semver));
  CHECK_FALSE(holds("1.3.0-beta1", ">= 1.3.0", Kind::semver));
}

TEST_CASE("the pessimistic operator") {
  CHECK(holds("1.2.9", "~> 1.2.3"));
  CHECK_FALSE(holds("1.3.0", "~> 1.2.3"));
  CHECK(holds("1.9", "~> 1.2"));
  CHECK_FALSE(holds("2.0", "~> 1.2"));
  CHECK_FALSE(holds("1.1", "~> 1.2"));
  CHECK(holds("7.1", "~> 1"));
  CHECK_FALSE(holds("1.2.3-rc1", "~> 1.2.3"));
  CHECK_FALSE(holds("1.2.3", "~> 1.2.3-rc1"));
  CHECK(holds("1.2.3-rc2", "~> 1.2.3-rc1"));
}

TEST_CASE("several comparisons must all hold") {
  CHECK(holds("1.5", "> 1.2,< 2"));
  CHECK_FALSE(holds("2.5", " >1.2 , <2 "));
  CHECK(holds("1.2", "1.2"));
  CHECK(holds("1.2", "<= 1.2"));
}

TEST_CASE("malformed constraints") {
  for (const char* bad : {"", "=", ">= ", ">= x", "=> 1", "1.2,", "~ 1", ">= 1.2 3"}) {
    CAPTURE(bad);
    CHECK(refused(bad));
  }
  CHECK(refused("~> 1.2", Kind::semver));
  CHECK(refused(">= 1.2beta", Kind::semver));
  CHECK_FALSE(refused(">= 1.2beta"));
}

TEST_CASE("each comparison below, at and above its bound") {
  const auto results = [](const char* op) {
    std::string joined;
    for (const char* version : {"1.1", "1.2", "1.3"})
      joined += holds(version, (std::string{op} + " 1.2").c_str()) ? 'y' : 'n';
    return joined;
  };
  CHECK(results("=") == "nyn");
  CHECK(results("") == "nyn");
  CHECK(results("!=") == "yny");
  CHECK(results(">") == "nny");
  CHECK(results(">=") == "nyy");
  CHECK(results("<") == "ynn");
  CHECK(results("<=") == "yyn");
}

TEST_CASE("no comparison but equality sees a prerelease that its bound has not") {
  for (const char* constraint : {"> 1.2", ">= 1.2", "< 2", "<= 2", "~> 1.2"}) {
    CAPTURE(constraint);
    CHECK_FALSE(holds("1.3.0-beta1", constraint));
    CHECK(holds("1.3.0", constraint));
  }
  CHECK(holds("1.3.0-beta1", "< 1.3.0-beta2"));
  CHECK(holds("1.3.0-beta1", "<= 1.3.0-beta1"));
  CHECK_FALSE(holds("1.3.0-beta1", "> 1.3.0-beta1"));
  CHECK(holds("1.3.0-beta1", "> 1.2", Kind::semver));
  CHECK(holds("1.3.0-beta1", "<= 1.3", Kind::semver));
}

TEST_CASE("versions of different lengths are compared as if the rest were zeros") {
  CHECK(order("1.2.3.1", "1.2.3") > 0);
  CHECK(order("1.2.3", "1.2.3.1") < 0);
  CHECK(order("1.2.3.0", "1.2.3") == 0);
  CHECK(order("2", "1.9.9.9") > 0);
  CHECK(order("0", "0.0.1") < 0);
}

TEST_CASE("prereleases: numbers before words, and what is missing depends on the other") {
  CHECK(order("1.0.0", "1.0.0-a") > 0);
  CHECK(order("1.0.0-a", "1.0.0-a") == 0);
  CHECK(order("1.0.0-a", "1.0.0-b") < 0);
  CHECK(order("1.0.0-b", "1.0.0-a") > 0);
  CHECK(order("1.0.0-11", "1.0.0-2") > 0);
  CHECK(order("1.0.0-2", "1.0.0-11") < 0);
  CHECK(order("1.0.0-a", "1.0.0-1") > 0);
  CHECK(order("1.0.0-a.1", "1.0.0-a") > 0);
  CHECK(order("1.0.0-a.b", "1.0.0-a") < 0);
  CHECK(order("1.0.0-a.1.b", "1.0.0-a.1.c") < 0);
}

TEST_CASE("the pessimistic operator: all but the last number that was given stay") {
  CHECK(holds("1.2.3", "~> 1.2.3"));
  CHECK_FALSE(holds("1.2.2", "~> 1.2.3"));
  CHECK(holds("1.2.3.4", "~> 1.2.3.1"));
  CHECK_FALSE(holds("1.2.4.4", "~> 1.2.3.1"));
  CHECK_FALSE(holds("1.2.4", "~> 1.2.3.1"));  // says less than the bound
  CHECK(holds("1.2.3.4", "~> 1.2"));
  CHECK_FALSE(holds("0.9", "~> 1"));
}

TEST_CASE("metadata is read and does not count") {
  CHECK(parse_version("1.2+build.7")->metadata == "build.7");
  CHECK(parse_version("1.2-beta+build.7")->prerelease == "beta");
  CHECK(parse_version("1.2.3.4")->given_segments == 4);
  CHECK(parse_version("1.2")->given_segments == 2);
  CHECK(parse_version("1.2")->segments.size() == 3);
  for (const char* bad : {"1.2-beta+", "1.2+a b", "1.2+a..b", "1.2+a.", "1.a", "1.2-a."}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_version(bad));
  }
}
