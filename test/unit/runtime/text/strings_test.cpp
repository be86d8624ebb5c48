#include "runtime/text/strings.hpp"

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"

using namespace nomad;

namespace {

std::string parts(std::string_view text, std::string_view separator, std::int64_t most = -1) {
  return join(split_text(text, separator, most), "|");
}

}  // namespace

TEST_CASE("strings: split as Go does") {
  CHECK(parts("a,b,", ",") == "a|b|");
  CHECK(parts("a,b,c", ",", 2) == "a|b,c");
  CHECK(parts("äb", "") == "ä|b");
  CHECK(parts("äbc", "", 2) == "ä|bc");
  CHECK(split_text("a", ",", 0).empty());
  CHECK(split_text("", "").empty());
}

TEST_CASE("strings: replace and count, also nothing between characters") {
  CHECK(replace_all("aXbX", "X", "-") == "a-b-");
  CHECK(replace_all("äb", "", "-") == "-ä-b-");
  CHECK(replace_all("", "", "-") == "-");
  CHECK(count_text("aXbX", "X") == 2);
  CHECK(count_text("äb", "") == 3);
}

TEST_CASE("strings: trim by a set, a prefix, a suffix") {
  CHECK(trim_characters("--a-b-", "-") == "a-b");
  CHECK(trim_characters("éaé", "é") == "a");
  CHECK(trim_characters("aa", "a") == "");
  CHECK(trim_characters(" a", "") == " a");
  CHECK(trim_prefix("abc", "ab") == "c");
  CHECK(trim_suffix("abc", "x") == "abc");
}

TEST_CASE("strings: paths") {
  CHECK(clean_path("a//b/./../c/") == "a/c");
  CHECK(clean_path("/../a") == "/a");
  CHECK(clean_path("../a") == "../a");
  CHECK(clean_path("") == ".");
  CHECK(base_name("/a/b//") == "b");
  CHECK(base_name("//") == "/");
  CHECK(base_name("") == ".");
  CHECK(directory_name("/a/b") == "/a");
  CHECK(directory_name("a") == ".");
}
