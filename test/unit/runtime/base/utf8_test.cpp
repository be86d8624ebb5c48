#include "runtime/base/utf8.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("utf8: what is written reads back") {
  for (const char32_t c : {U'\0', U'a', U'\x7f', U'\x80', U'\x7ff', U'\x800', U'\xffff',
                           U'\U00010000', U'\U0010ffff'}) {
    std::string text;
    append_utf8(text, c);
    const CodePoint point = decode_utf8(text, 0);
    CHECK(point.value == c);
    CHECK(point.length == text.size());
    CHECK_FALSE(point.is_broken());
    CHECK(is_valid_utf8(text));
    CHECK(is_ascii(text) == (c < 0x80));
  }
}

TEST_CASE("utf8: a broken byte counts for itself") {
  CHECK(decode_utf8("\xff"
                    "a",
                    0)
            .is_broken());
  CHECK(decode_utf8("a\xe2\x98", 1).is_broken());
  CHECK_FALSE(decode_utf8("\ufffd", 0).is_broken());
}

TEST_CASE("utf8: overlong forms, surrogates and what is beyond Unicode are invalid") {
  for (const std::string_view text :
       {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "a\xe2\x98"})
    CHECK_FALSE(is_valid_utf8(text));
  CHECK(is_valid_utf8(""));
  CHECK(is_valid_utf8("a☺\ufffd"));
}

TEST_CASE("utf8: one byte of many makes a text no ASCII") {
  std::string text(40, 'a');
  CHECK(is_ascii(text));
  for (char& c : text) {
    c = '\x80';
    CHECK_FALSE(is_ascii(text));
    c = 'a';
  }
}

TEST_CASE("utf8: a prefix ends between code points") {
  CHECK(utf8_prefix("abc", 3) == "abc");
  CHECK(utf8_prefix("abc", 2) == "ab");
  CHECK(utf8_prefix("", 0).empty());
  CHECK(utf8_prefix("a\u00e4", 2) == "a");
  CHECK(utf8_prefix("a\u20acb", 3) == "a");
  CHECK(utf8_prefix("a\u20acb", 4) == "a\u20ac");
  CHECK(utf8_prefix("\U0001F600", 3).empty());
  CHECK(utf8_prefix("\x80\x80\x80\x80\x80\x80\x80", 6) == "\x80\x80\x80");
}
