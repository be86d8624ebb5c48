#include <doctest/doctest.h>

#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "test/unit/runtime/hcl/cases.hpp"

namespace nomad::hcl {

namespace {

std::string show_position(Position at) {
  return std::to_string(at.line) + ":" + std::to_string(at.column) + ":" + std::to_string(at.byte);
}

}  // namespace

TEST_CASE("parse_json: files have the reference's values, places and complaints") {
  const Scope scope;
  check_cases("json.txt", [&scope](const std::string& input) {
    const Parsed parsed = parse_json("f.hcl", input);
    std::string out;
    const auto complain = [&out](const Diagnostics& diagnostics, const char* indent) {
      for (const Diagnostic& d : diagnostics)
        out += indent + ("! " + d.to_string()) + "\n";
    };
    complain(parsed.diagnostics, "");
    if (parsed.ok()) {
      const JustAttributes content = Body{parsed.file}.just_attributes();
      complain(content.diagnostics, "");
      for (const Attribute& attribute : content.attributes) {
        const Evaluated evaluated = attribute.evaluate(&scope.context);
        const Range range = attribute.range();
        out += std::string{attribute.name} + " @" + show_position(range.start) + "-"
               + show_position(range.end) + " = " + show(evaluated.value) + "\n";
        complain(evaluated.diagnostics, " ");
      }
    }
    return out;
  });
}

TEST_CASE("parse_json: nesting beyond the limit is a complaint") {
  const Parsed parsed = parse_json("f.hcl", std::string(100'000, '['));

  REQUIRE(!parsed.ok());
  CHECK(parsed.diagnostics[0].summary == "Nesting too deep");
}

TEST_CASE("parse_json: strings are plain text when there is no context") {
  const Parsed parsed = parse_json("f.hcl", R"({"a": "${x}"})");
  const JustAttributes content = Body{parsed.file}.just_attributes();

  REQUIRE(content.attributes.size() == 1);
  CHECK(show(content.attributes[0].evaluate(nullptr).value) == R"("${x}")");
}

}  // namespace nomad::hcl
