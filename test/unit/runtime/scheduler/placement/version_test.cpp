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
