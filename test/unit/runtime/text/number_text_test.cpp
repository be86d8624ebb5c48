#include "runtime/text/number_text.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("number_text: the shortest digits that read back") {
  CHECK(format_number(0.1) == "0.1");
  CHECK(format_number(1e6) == "1e+06");
  CHECK(format_number(100000) == "100000");
  CHECK(format_number(1e-5) == "1e-05");
  CHECK(format_number(-0.0) == "-0");
  CHECK(format_number(5e-324) == "5e-324");
  CHECK(format_number(1.7976931348623157e308, 'f').size() == 309);
}

TEST_CASE("number_text: digits that were asked for") {
  CHECK(format_number(2.5, 'f', 0) == "2");
  CHECK(format_number(1234.5678, 'g', 3) == "1.23e+03");
  CHECK(format_number(1234.5678, 'e', 2) == "1.23e+03");
  CHECK(format_number(1.5, 'x') == "0x1.8p+00");
  CHECK(format_number(1.5, 'b') == "6755399441055744p-52");
}

TEST_CASE("number_text: whole numbers with a base in front, and their limits") {
  CHECK(parse_integer("0x1f", 0).value == 31);
  CHECK(parse_integer("-017", 0).value == -15);
  CHECK(parse_integer("1_000", 0).value == 1000);
  CHECK(parse_integer("1_000", 10).fault == NumberFault::syntax);
  CHECK(parse_integer("_1", 0).fault == NumberFault::syntax);
  CHECK(parse_integer("+-1", 10).fault == NumberFault::syntax);
  CHECK(parse_integer("-9223372036854775808", 10).value
        == std::numeric_limits<std::int64_t>::min());
  CHECK(parse_integer("9223372036854775808", 10).fault == NumberFault::range);
  CHECK(parse_natural("18446744073709551616", 10).fault == NumberFault::range);
  CHECK(parse_natural("", 10).fault == NumberFault::syntax);
}

TEST_CASE("number_text: fractions, and what is too large or small for them") {
  CHECK(parse_number("1e3").value == 1000);
  CHECK(parse_number(".5").value == 0.5);
  CHECK(parse_number("-5.").value == -5);
  CHECK(parse_number("0x1p4").value == 16);
  CHECK(parse_number("1e400").fault == NumberFault::range);
  CHECK_FALSE(parse_number("1e-400").fault);
  CHECK(parse_number("1e").fault == NumberFault::syntax);
  CHECK(parse_number("--1").fault == NumberFault::syntax);
  CHECK(parse_number("0x1").fault == NumberFault::syntax);
}

TEST_CASE("number_text: literals") {
  CHECK(unquote(R"("a\tb\x41\u00e9\101")") == "a\tbAéA");
  CHECK(unquote("`a\\b\r\n`") == "a\\b\n");
  CHECK_FALSE(unquote(R"("\400")"));
  CHECK_FALSE(unquote(R"("\ud800")"));
  CHECK_FALSE(unquote("\"a"));
  CHECK(unquote_character("'\\n'") == U'\n');
  CHECK_FALSE(unquote_character("'ab'"));
}
