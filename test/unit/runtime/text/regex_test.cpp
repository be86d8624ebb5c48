#include "runtime/text/regex.hpp"

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"

using namespace nomad;

namespace {

Work plenty() {
  return Work{1U << 30U};
}

Regex compiled(std::string_view pattern) {
  auto work = plenty();
  return *Regex::compile(pattern, work);
}

std::string regex_replaced(std::string_view pattern, std::string_view text, std::string_view with) {
  auto work = plenty();
  return compiled(pattern).replace_all(text, with, true, 100, work).value_or("too long");
}

}  // namespace

TEST_CASE("regex: what is no pattern is told in Go's words") {
  auto work = plenty();
  const auto refusal = [&work](std::string_view pattern, std::int64_t memory = 1 << 20) {
    return Regex::compile(pattern, work, memory).error().what;
  };
  CHECK(refusal("(") == "error parsing regexp: missing closing ): `(`");
  CHECK(refusal("a\xff") == "error parsing regexp: invalid UTF-8: `a\xff`");
  CHECK(refusal("(a{100}){10}", 10'000)
        == "error parsing regexp: expression too large: `(a{100}){10}`");
  CHECK(refusal(std::string(Regex::max_pattern + 1, 'a'))
        == "a regular expression has at most " + std::to_string(Regex::max_pattern) + " bytes");
}

TEST_CASE("regex: groups are named by number and by name") {
  CHECK(regex_replaced("(a)(?P<n>b)", "xabx", "<$1-${n}-$2>") == "x<a-b-b>x");
  CHECK(regex_replaced("a", "a", "$$ $ ${ ${}") == "$ $ ${ ${}");
  CHECK(regex_replaced("(a)", "a", "[$1x][${1}x]") == "[][ax]");
  CHECK(regex_replaced("a", "a", "[$é]") == "[]");
  auto work = plenty();
  CHECK(compiled("(a)").replace_all("a", "$1$1", false, 100, work).value() == "$1$1");
}

TEST_CASE("regex: empty matches count once, and not behind another match") {
  CHECK(regex_replaced("a*", "baac", "-") == "-b-c-");
  CHECK(regex_replaced("", "äb", "-") == "-ä-b-");
  auto work = plenty();
  CHECK(join(*compiled("a*").find_all("baac", -1, work), "|") == "|aa|");
}

TEST_CASE("regex: parts, and a limit") {
  auto work = plenty();
  CHECK(join(*compiled(",").split("a,b,c", 2, work), "|") == "a|b,c");
  CHECK(join(*compiled("x*").split("axbxc", -1, work), "|") == "a|b|c");
  CHECK(regex_replaced("a", std::string(60, 'a'), "bb") == "too long");
  CHECK(quote_meta("a.b*") == "a\\.b\\*");
}

TEST_CASE("regex: what a match may take is paid for before, by text and program") {
  const std::string text(1'000'000, 'a');
  Work small{1'000'000};
  Work enough{2'000'000'000};
  const Regex large = compiled("(a|b)*a(a|b){200}c");

  CHECK(compiled("b").matches(text, small).error().code == Errc::too_large);
  CHECK(compiled("a").find_all("aaaaaaaaaa", 1, enough)->size() == 1);
  CHECK(enough.used() < 1'000);
  CHECK(large.matches(std::string(10'000, 'a'), enough) == false);
  CHECK(large.matches(std::string(10'000'000, 'a'), enough).error().code == Errc::too_large);
}

TEST_CASE("regex: looking on to the end for each match ends with the work, and with a stop") {
  const std::string text(200'000, 'a');
  int looks = 0;
  Work bounded{4'000'000};
  Work stopped{std::uint64_t{1} << 40U, [&looks]() -> Result<void> {
                 if (++looks > 2) return Error{Errc::cancelled, "nobody waits"};
                 return {};
               }};
  const Regex reads_on = compiled("a.*b|a");

  CHECK(reads_on.find_all(text, -1, bounded).error().code == Errc::too_large);
  CHECK(reads_on.replace_all(text, "x", false, text.size(), stopped).error().code
        == Errc::cancelled);
  CHECK(looks == 3);
}

TEST_CASE("regex: many matches in some megabytes are no more work than their text") {
  std::string text;
  while (text.size() < 4'000'000)
    text += "port 8080, ";
  auto work = plenty();

  const auto found = compiled("[0-9]+").find_all(text, -1, work);
  REQUIRE(found);
  CHECK(found->size() == text.size() / 11);
  const auto replaced = compiled("[0-9]+").replace_all(text, "1", false, text.size(), work);
  REQUIRE(replaced);
  CHECK(replaced->starts_with("port 1, port 1, "));
}

TEST_CASE("regex: a pattern is bounded, and what it is compiled to is paid for") {
  auto work = plenty();
  Work little{50'000};

  CHECK(Regex::compile(std::string(Regex::max_pattern + 1, 'a'), work).error().code
        == Errc::too_large);
  CHECK(Regex::compile("[a-z]{1000}", little).error().code == Errc::too_large);
}
