// Operands of constraints.
#include "runtime/scheduler/placement/operand.hpp"

#include <doctest/doctest.h>

using nomad::scheduler::OperandChecker;

TEST_CASE("equality") {
  OperandChecker check;
  CHECK(check.holds("=", "a", "a"));
  CHECK(check.holds("==", "a", "a"));
  CHECK(check.holds("is", "a", "a"));
  CHECK_FALSE(check.holds("=", "a", "b"));
  CHECK_FALSE(check.holds("=", std::nullopt, "a"));
  CHECK_FALSE(check.holds("=", std::nullopt, std::nullopt));
  CHECK(check.holds("!=", "a", "b"));
  CHECK(check.holds("not", std::nullopt, "b"));
  CHECK_FALSE(check.holds("!=", std::nullopt, std::nullopt));
  CHECK_FALSE(check.holds("!=", "a", "a"));
}

TEST_CASE("order: integers, then floats, then bytes") {
  OperandChecker check;
  CHECK(check.holds("<", "9", "10"));
  CHECK(check.holds(">", "1.5", "1.25"));
  CHECK(check.holds(">=", "+3", "3"));
  CHECK(check.holds("<", "abc", "abd"));
  CHECK(check.holds("<", "10", "9a"));  // not both numbers: bytes
  CHECK(check.holds("<=", "7", "7"));
  CHECK_FALSE(check.holds("<", "7", "7"));
  CHECK_FALSE(check.holds("<", std::nullopt, "7"));
}

TEST_CASE("presence") {
  OperandChecker check;
  CHECK(check.holds("is_set", "", ""));
  CHECK_FALSE(check.holds("is_set", std::nullopt, ""));
  CHECK(check.holds("is_not_set", std::nullopt, ""));
  CHECK_FALSE(check.holds("is_not_set", "x", ""));
}

TEST_CASE("versions and regular expressions are remembered, also bad ones") {
  OperandChecker check;
  for (int round = 0; round < 2; ++round) {
    CHECK(check.holds("version", "1.5.0", ">= 1.2"));
    CHECK_FALSE(check.holds("version", "1.3.0-beta1", ">= 1.2"));
    CHECK(check.holds("semver", "1.3.0-beta1", ">= 1.2"));
    CHECK_FALSE(check.holds("version", "1.5.0", "nonsense"));
    CHECK_FALSE(check.holds("version", "nonsense", ">= 1.2"));
    CHECK(check.holds("regexp", "linux-amd64", "^linux"));
    CHECK(check.holds("regexp", "linux-amd64", "amd"));
    CHECK_FALSE(check.holds("regexp", "linux", "^amd$"));
    CHECK_FALSE(check.holds("regexp", "linux", "("));
  }
}

TEST_CASE("operand: a regular expression that would take too much holds of no node") {
  OperandChecker check;
  const std::string value(1'000'000, 'a');

  CHECK(check.holds("regexp", value, "a$"));
  CHECK_FALSE(check.holds("regexp", value, "(a|b)*a(a|b){400}"));
  CHECK_FALSE(check.holds("regexp", "a", std::string(nomad::Regex::max_pattern + 1, 'a')));
}

TEST_CASE("sets") {
  OperandChecker check;
  CHECK(check.holds("set_contains", "a, b,c", "c,a"));
  CHECK(check.holds("set_contains_all", "a, b,c", " b "));
  CHECK_FALSE(check.holds("set_contains", "a,b", "a,d"));
  CHECK(check.holds("set_contains_any", "a,b", "d,b"));
  CHECK_FALSE(check.holds("set_contains_any", "a,b", "d"));
}

TEST_CASE("what is judged elsewhere passes, what is unknown fails") {
  OperandChecker check;
  CHECK(check.holds("distinct_hosts", std::nullopt, std::nullopt));
  CHECK(check.holds("distinct_property", std::nullopt, std::nullopt));
  CHECK_FALSE(check.holds("like", "a", "a"));
}

TEST_CASE("order: each operand below, at and above its bound, of each kind of value") {
  OperandChecker check;
  const auto results = [&check](const char* operand, std::initializer_list<const char*> values,
                                const char* bound) {
    std::string joined;
    for (const char* value : values)
      joined += check.holds(operand, value, bound) ? 'y' : 'n';
    return joined;
  };
  const auto each = [&](std::initializer_list<const char*> values, const char* bound) {
    CHECK(results("<", values, bound) == "ynn");
    CHECK(results("<=", values, bound) == "yyn");
    CHECK(results(">", values, bound) == "nny");
    CHECK(results(">=", values, bound) == "nyy");
  };
  each({"9", "10", "11"}, "10");
  each({"-3", "+2", "30"}, "2");
  each({"9.5", "10.0", "1e2"}, "10");  // an integer beside floats
  each({"b", "ba", "c"}, "ba");
  CHECK(check.holds("<", "+-3", "-4"));  // no number, so bytes
}
