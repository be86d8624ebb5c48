#include "runtime/text/regex.hpp"

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"

using namespace nomad;

namespace {

std::string regex_replaced(std::string_view pattern, std::string_view text, std::string_view with) {
  return Regex::compile(pattern)->replace_all(text, with, true, 100).value_or("too long");
}

}  // namespace

TEST_CASE("regex: what is no pattern is told in Go's words") {
  CHECK(Regex::compile("(").error().what == "error parsing regexp: missing closing ): `(`");
}

TEST_CASE("regex: groups are named by number and by name") {
  CHECK(regex_replaced("(a)(?P<n>b)", "xabx", "<$1-${n}-$2>") == "x<a-b-b>x");
  CHECK(regex_replaced("a", "a", "$$ $ ${ ${}") == "$ $ ${ ${}");
  CHECK(regex_replaced("(a)", "a", "[$1x][${1}x]") == "[][ax]");
  CHECK(regex_replaced("a", "a", "[$é]") == "[]");
  CHECK(Regex::compile("(a)")->replace_all("a", "$1$1", false, 100).value() == "$1$1");
}

TEST_CASE("regex: empty matches count once, and not behind another match") {
  CHECK(regex_replaced("a*", "baac", "-") == "-b-c-");
  CHECK(regex_replaced("", "äb", "-") == "-ä-b-");
  CHECK(join(Regex::compile("a*")->find_all("baac", -1), "|") == "|aa|");
}

TEST_CASE("regex: parts, and a limit") {
  CHECK(join(Regex::compile(",")->split("a,b,c", 2), "|") == "a|b,c");
  CHECK(join(Regex::compile("x*")->split("axbxc", -1), "|") == "a|b|c");
  CHECK(regex_replaced("a", std::string(60, 'a'), "bb") == "too long");
  CHECK(quote_meta("a.b*") == "a\\.b\\*");
}
