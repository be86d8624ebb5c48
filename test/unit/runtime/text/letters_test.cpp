#include "runtime/text/letters.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("letters: cases by Unicode, letter by letter") {
  CHECK(upper_case("äb ß") == "ÄB ß");
  CHECK(lower_case("ÄB") == "äb");
  CHECK(title_case("it's a_b ǆ") == "It'S A_b ǅ");
  CHECK(title_words("it's a.b c-d") == "It's A.b C-D");
}

TEST_CASE("letters: spaces by Unicode go, what is none stays") {
  CHECK(trim_space(" \u00a0\u3000a b\u2003\n") == "a b");
  CHECK(trim_left_space(" a ") == "a ");
  CHECK(trim_right_space(" a ") == " a");
  CHECK(trim_space("a\xC2") == "a\xC2");
  CHECK(trim_space("\u200b") == "\u200b");
  CHECK(trim_space(" \t") == "");
}
