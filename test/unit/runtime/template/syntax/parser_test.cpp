#include "runtime/template/syntax/parser.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::templates;

namespace {

Result<TreeSet> parse(std::string_view text) {
  return parse_template("t", text, {.has_function = [](std::string_view) { return true; }});
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

}  // namespace

TEST_CASE("parser: a tree shows itself as it was written") {
  for (const std::string text :
       {"a{{.X.Y | f 1 \"s\" $}}b", "{{if .A}}1{{else}}2{{end}}",
        "{{range $i, $e := .L}}{{break}}{{end}}", "{{with (f .X).Y}}{{.}}{{end}}",
        "{{template \"n\" .}}", "{{$x := 1}}{{$x}}"}) {
    const auto parsed = parse(text);
    REQUIRE(parsed.has_value());
    CHECK(parsed->at("t").shown() == text);
  }
}

TEST_CASE("parser: defined templates are trees of their own") {
  const auto parsed = parse("{{define \"a\"}}A{{end}}{{block \"b\" .}}B{{end}}");

  REQUIRE(parsed.has_value());
  CHECK(parsed->size() == 3);
  CHECK(parsed->at("a").shown() == "A");
  CHECK(parsed->at("t").shown() == "{{template \"b\" .}}");
}

TEST_CASE("parser: nests as deep as it says, and no deeper") {
  CHECK(parse(repeated("{{if 1}}", 150) + repeated("{{end}}", 150)).has_value());
  CHECK(parse(repeated("{{if 1}}", 10'000)).error().what
        == "template: t:1: actions are nested too deep");
  CHECK(parse("{{" + repeated("(", 100'000)).error().what.find("nested too deep")
        != std::string::npos);
  CHECK(parse("{{if 1}}" + repeated("{{else if 1}}", 10'000)).error().what.find("nested too deep")
        != std::string::npos);
  CHECK(parse(repeated("{{block \"x\" .}}", 10'000)).error().what.find("nested too deep")
        != std::string::npos);
}
