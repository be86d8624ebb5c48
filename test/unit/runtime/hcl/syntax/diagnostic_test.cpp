#include "runtime/hcl/syntax/diagnostic.hpp"

#include <doctest/doctest.h>

#include "runtime/hcl/syntax/parser.hpp"

namespace nomad::hcl {

namespace {

Diagnostics complaints(const std::string& text) {
  return parse("job.hcl", text).diagnostics;
}

}  // namespace

TEST_CASE("Diagnostic: the line that clients match on") {
  CHECK(error_without_place("Missing job block", "A job block is required").to_string()
        == "<nil>: Missing job block; A job block is required");
  const Diagnostics one = complaints("\"x\" = 1\n");
  CHECK(first_and_count(one)
        == "job.hcl:1,1-2: Invalid argument name; Argument names must not be quoted.");
  const Diagnostics two = complaints("a\nb\n");
  REQUIRE(two.size() == 2);
  CHECK(first_and_count(two) == two[0].to_string() + ", and 1 other diagnostic(s)");
  CHECK(all_lines(two) == two[0].to_string() + "\n" + two[1].to_string());
  CHECK(first_and_count({}) == "no diagnostics");
}

TEST_CASE("render: the source line with the exact range marked") {
  CHECK(render(complaints("a = 1\n  bcd 5 {}\n"))
        == "job.hcl:2,3-6: Argument or block definition required; An argument or block definition is required here. To "
           "set an argument, use the equals sign \"=\" to introduce the argument value.\n"
           "  2 |   bcd 5 {}\n"
           "    |   ^^^\n");
}

TEST_CASE("render: tabs and wide characters keep the marker below what it marks") {
  CHECK(render(complaints("\ta 5\n")).find("  1 | \ta 5\n    | \t^\n") != std::string::npos);
  CHECK(render(complaints("é = é 5\n")).find("  1 | é = é 5\n    |       ^\n")
        != std::string::npos);
}

TEST_CASE("render: colours only when asked for") {
  const Diagnostics list = complaints("a 5\n");
  CHECK(render(list).find('\033') == std::string::npos);
  CHECK(render(list, {true, 160}).find("\033[1;31m") != std::string::npos);
}

TEST_CASE("render: of a long line the part around the mistake is shown") {
  const std::string out = render(
      complaints("a = \"" + std::string(1000, 'x') + "\" 5 \"" + std::string(1000, 'y') + "\"\n"));

  CHECK(out.find("…") != std::string::npos);
  CHECK(out.find("x\" 5 \"y") != std::string::npos);
  CHECK(out.size() < 700);
}

TEST_CASE("render: a range over several lines is marked to the end of its first") {
  Source source{"job.hcl", "abc {\n}\n"};
  CHECK(render(error_at(source, {4, 7}, "S", "D"))
        == "job.hcl:1,5-2,2: S; D\n  1 | abc {\n    |     ^\n");
}

TEST_CASE("Source: positions count grapheme clusters, and bytes") {
  const Source source{"f", "a\n \"é👨‍👩‍👧x\"\r\ny"};
  const std::string_view text = source.text();
  const auto at = [&](std::string_view what) {
    return source.position(static_cast<std::uint32_t>(text.find(what)));
  };
  CHECK(at("x") == Position{2, 5, static_cast<std::uint32_t>(text.find('x'))});
  CHECK(at("y") == Position{3, 1, static_cast<std::uint32_t>(text.find('y'))});
  CHECK(source.line(2) == " \"é👨‍👩‍👧x\"");
  CHECK(source.line(3) == "y");
  CHECK(source.line(4) == "");
}

TEST_CASE("Source: a text cut out of another counts from there") {
  const Source source{"f", "ab\ncd", Syntax::bare_template, {5, 10, 100}};
  CHECK(source.position(1) == Position{5, 11, 101});
  CHECK(source.position(4) == Position{6, 2, 104});
  CHECK(source.line(5) == "ab");
}

}  // namespace nomad::hcl
