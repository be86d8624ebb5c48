#include "runtime/template/change/environment_file.hpp"

#include <doctest/doctest.h>

using namespace nomad::templates;

namespace {

std::string value_of(std::string_view line) {
  const auto parsed = parse_environment_file(line);
  return parsed ? parsed->begin()->second : "error: " + parsed.error().what;
}

}  // namespace

TEST_CASE("environment_file: a line for each variable") {
  const auto parsed
      = parse_environment_file("# comment\n\nA=1\r\nexport B = two words # more\nA=3\n");

  REQUIRE(parsed.has_value());
  CHECK(*parsed == std::map<std::string, std::string>{{"A", "3"}, {"B", "two words"}});
}

TEST_CASE("environment_file: values with and without quotes") {
  struct Case {
    const char* line;
    const char* value;
  };

  for (const auto& each :
       {Case{"A=", ""}, Case{"A=x=y", "x=y"}, Case{"A='a # \"b'", "a # \"b"},
        Case{R"(A="a\n\"\\\/\u263a")", "a\n\"\\/☺"}, Case{"A=a'b'\"c\"", "abc"},
        Case{"A=é ☃", "é ☃"}, Case{R"(A="\ud83d\ude00")", "😀"}, Case{"A=\"\" # x", ""},
        Case{"A=a#b", "a"}, Case{"A.b_1=x", "x"}, Case{"A='a\\q'", "a\\q"}}) {
    CAPTURE(each.line);
    CHECK(value_of(each.line) == each.value);
  }
}

TEST_CASE("environment_file: two escapes are one character, where they are a pair") {
  struct Case {
    const char* line;
    const char* value;
  };

  for (const auto& each :
       {Case{R"(A="\ud800\udc00")", "\xf0\x90\x80\x80"},
        Case{R"(A="\udbff\udfff")", "\xf4\x8f\xbf\xbf"}, Case{R"(A="\ud7ff")", "\xed\x9f\xbf"},
        Case{R"(A="\ue000")", "\xee\x80\x80"}, Case{R"(A="\ud83d\ue000-")", "\xef\xbf\xbd-"},
        Case{R"(A="\ud83d\udbff-")", "\xef\xbf\xbd-"},
        Case{R"(A="\udc00\udc00-")", "\xef\xbf\xbd-"}}) {
    CAPTURE(each.line);
    CHECK(value_of(each.line) == each.value);
  }
}

TEST_CASE("environment_file: mistakes have their line and Nomad's words") {
  struct Case {
    const char* text;
    const char* error;
  };

  for (const auto& each :
       {Case{"A=1\nnope", "error on line 2: missing ="},
        Case{"=x", "error on line 1: empty key"},
        Case{"1A=x", "error on line 1: key must start with [A-Za-z_] but found '1'"},
        Case{"\"A=x", "error on line 1: key must start with [A-Za-z_] but found '\"'"},
        Case{"'A=x", "error on line 1: key must start with [A-Za-z_] but found '\\''"},
        Case{"A-B=x", "error on line 1: key characters must be [A-Za-z0-9_.] but found '-'"},
        Case{"A=\"x", "error on line 1: unmatched \""},
        Case{"A='x", "error on line 1: unmatched '"},
        Case{"A=\"x\\", "error on line 1: incomplete escape sequence"},
        Case{"A=\"x\\é\"", "error on line 1: multibyte characters disallowed in escape sequences"},
        Case{"A=\"\\u0041", "error on line 1: unmatched \""},
        Case{"A=\"x\\q\"", "error on line 1: invalid escape sequence: \"q\""},
        Case{"A=\"\\u12zz\"", "error on line 1: invalid hex character: \"z\""},
        Case{"A=\"\\ud83dx\"", "error on line 1: incomplete Unicode surrogate pair"},
        Case{"A=\"x\\", "error on line 1: incomplete escape sequence"},
        Case{"A=\"\\\x7f\"", "error on line 1: invalid escape sequence: \"\\x7f\""},
        Case{"A=\"\\\xc3\xa9\"",
             "error on line 1: multibyte characters disallowed in escape sequences"},
        Case{"A=\"\\u12", "error on line 1: incomplete hex sequence"},
        Case{"A=a\x1f"
             "b",
             "error on line 1: 0x1f is an invalid value character"},
        Case{"A=a\x01", "error on line 1: 0x01 is an invalid value character"}}) {
    CAPTURE(each.text);
    const auto parsed = parse_environment_file(each.text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().what == each.error);
  }
}
