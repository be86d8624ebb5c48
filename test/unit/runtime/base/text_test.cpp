#include "runtime/base/text.hpp"

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/base/utf8.hpp"

using namespace nomad;
using Parts = std::vector<std::string_view>;

TEST_CASE("text: characters are judged as ASCII") {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    CAPTURE(byte);
    CHECK(is_digit(c) == (byte >= '0' && byte <= '9'));
    CHECK(is_letter(c) == ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')));
    CHECK(is_alphanumeric(c) == (is_digit(c) || is_letter(c)));
    CHECK(to_upper(to_lower(c)) == (is_letter(c) ? to_upper(c) : c));
    CHECK((to_lower(c) != c) == (byte >= 'A' && byte <= 'Z'));
    CHECK((to_upper(c) != c) == (byte >= 'a' && byte <= 'z'));
  }
  CHECK(to_lower("ÄBC-1") == "Äbc-1");
  CHECK(to_upper("äbc-1") == "äBC-1");
}

TEST_CASE("text: hexadecimal digits") {
  CHECK(hex_value('0') == 0);
  CHECK(hex_value('9') == 9);
  CHECK(hex_value('a') == 10);
  CHECK(hex_value('F') == 15);
  for (const char c : {'g', 'G', '/', ':', '@', '`', '\xff'})
    CHECK_FALSE(is_hex_digit(c));
  CHECK(to_hex(std::string_view{"\x00\x7f\xff", 3}) == "007fff");
  std::string out = "U+";
  append_hex(out, 0x1f600, 6);
  CHECK(out == "U+01f600");
}

TEST_CASE("text: only digits, and at least one") {
  CHECK(is_digits("0123456789"));
  CHECK_FALSE(is_digits(""));
  CHECK_FALSE(is_digits("1 "));
  CHECK_FALSE(is_digits("-1"));
}

TEST_CASE("text: labels of DNS names") {
  CHECK(is_dns_label("a"));
  CHECK(is_dns_label("Web-1"));
  CHECK(is_dns_label(std::string(63, 'a')));
  for (const auto* wrong : {"", "-web", "web-", "we b", "web_1", "web.a", "wéb", "${x}"})
    CHECK_FALSE(is_dns_label(wrong));
  CHECK_FALSE(is_dns_label(std::string(64, 'a')));
  CHECK_FALSE(is_dns_label(std::string_view{"a\0b", 3}));
}

TEST_CASE("text: the number that a text begins with") {
  CHECK(leading_number(" 65536 kB") == 65536);
  CHECK(leading_number("12.5") == 12);
  CHECK(leading_number("18446744073709551615") == 18446744073709551615U);
  CHECK(leading_number("18446744073709551616") == 0);
  CHECK(leading_number("-1") == 0);
  CHECK(leading_number("max") == 0);
  CHECK(leading_number("") == 0);
}

TEST_CASE("text: trimming takes blanks from the ends and nothing between") {
  CHECK(trim("\t a b\v\f\r\n") == "a b");
  CHECK(trim(" \n") == "");
  CHECK(trim("") == "");
  CHECK(trim("\va ", regex_space) == "\va");
  CHECK(trim("--a-", "-") == "a");
}

TEST_CASE("text: a split text has one part more than separators") {
  CHECK(split("a,b", ',') == Parts{"a", "b"});
  CHECK(split(",a,", ',') == Parts{"", "a", ""});
  CHECK(split("", ',') == Parts{""});
  CHECK(split("a", ',') == Parts{"a"});
}

TEST_CASE("text: fields are never empty") {
  CHECK(fields("  a\tb \n c ") == Parts{"a", "b", "c"});
  CHECK(fields("a\vb") == Parts{"a", "b"});
  CHECK(fields("a\vb", file_space) == Parts{"a\vb"});
  CHECK(fields(" ").empty());
  CHECK(fields("").empty());
}

TEST_CASE("text: joining puts a separator between each two, empty ones included") {
  CHECK(join(Parts{"a", "b"}, ", ") == "a, b");
  CHECK(join(Parts{"", "", "b"}, ",") == ",,b");
  CHECK(join(Parts{"a"}, ",") == "a");
  CHECK(join(std::vector<std::string>{}, ",") == "");
}

TEST_CASE("text: quoting is that of Go's strconv") {
  CHECK(quote("a b") == R"("a b")");
  CHECK(quote_character(U'a') == "'a'");
  CHECK(quote_character(U'"') == "'\"'");
  CHECK(quote_character(U'\'') == "'\\''");
  CHECK(quote_character(U'\n') == "'\\n'");
  CHECK(quote(R"(say "\")") == R"("say \"\\\"")");
  CHECK(quote("\a\b\f\n\r\t\v") == R"("\a\b\f\n\r\t\v")");
  CHECK(quote(std::string_view{"\0\x1f\x7f", 3}) == R"("\x00\x1f\x7f")");
  CHECK(quote("grün ☺ 😀") == "\"grün ☺ 😀\"");
  CHECK(quote("\xff"
              "a\xc3")
        == R"("\xffa\xc3")");
  CHECK(quote("\u00a0\u200b\u0085") == R"("\u00a0\u200b\u0085")");
  CHECK(quote("\ufffd") == "\"\ufffd\"");
  CHECK(quote("\ue000") == R"("\ue000")");
  CHECK(quote("\U000e0001") == R"("\U000e0001")");
  CHECK(quote_ascii("grün ☺ 😀") == R"("gr\u00fcn \u263a \U0001f600")");
  CHECK(quote_ascii("\xff\n") == R"("\xff\n")");
}

TEST_CASE("text: what a terminal should not get is escaped") {
  CHECK(escape_controls("") == "");
  CHECK(escape_controls("1 error:\n\t* \"a\\b\" grün ☺ 😀\u00a0\ufffd")
        == "1 error:\n\t* \"a\\b\" grün ☺ 😀\u00a0\ufffd");
  CHECK(escape_controls(std::string_view{"\0\a\r\x1b[31m\x7f", 9})
        == R"(\x00\x07\x0d\x1b[31m\x7f)");
  CHECK(escape_controls("\xff\xc3(\xed\xa0\x80\xe2\x82") == R"(\xff\xc3(\xed\xa0\x80\xe2\x82)");
  CHECK(escape_controls("a\u0080b\u009fc") == R"(a\u0080b\u009fc)");
}

TEST_CASE("text: what somebody sent is quoted in part") {
  const std::string ordinary = "job \"web\": group \"api\"\n\t* has no tasks\n";
  CHECK(shorten(ordinary) == ordinary);
  CHECK(shorten("").empty());
  CHECK(shorten("no \"" + std::string(1'000'000, 'x') + "\" here")
        == "no \"" + std::string(199, 'x') + "... (1000002 bytes) here");
  std::string many;
  while (many.size() < 1'000'000)
    many += std::string(1'000, 'y') + ' ';
  CHECK(shorten(many).size() < 70'000);
  CHECK(shorten(std::string(1'000'000, ' ')).size() < 70'000);
}

TEST_CASE("text: whatever the bytes, what comes of it is clean, and stays as it is") {
  Random random{0xE5CA9E};
  constexpr std::string_view likely
      = "a\n\t\\\x1b\x7f\xc2\x85\xe2\x80\xa8\xed\xa0\xf0\x9f\x98\x80\xff";
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random.below(12), '\0');
    for (char& byte : bytes)
      byte = random.below(4) == 0 ? static_cast<char>(random.below(256))
                                  : likely[random.below(likely.size())];
    CAPTURE(to_hex(bytes));
    const auto clean = escape_controls(bytes);
    REQUIRE(is_valid_utf8(clean));
    REQUIRE(escape_controls(clean) == clean);
    REQUIRE(clean.size() >= bytes.size());
  }
}
