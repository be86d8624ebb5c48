#include "runtime/template/eval/template.hpp"

#include <doctest/doctest.h>

#include "test/unit/runtime/template/cases.hpp"

using namespace nomad;
using namespace nomad::templates;

namespace {

MissingKey missing_key(const std::string& name) {
  return name == "zero"    ? MissingKey::zero
         : name == "error" ? MissingKey::error
                           : MissingKey::no_value;
}

Result<std::string> render(const Case& each) {
  const auto parsed = Template::parse(
      "t", each.text,
      {.delimiters = each.delimiters, .missing_key = missing_key(each.missing_key)});
  if (!parsed) return parsed.error();
  Context context;
  return parsed->execute(context, case_data());
}

}  // namespace

TEST_CASE("template: gives and says what Go's text/template does, byte by byte") {
  for (const Case& each : load_cases("go.json")) {
    CAPTURE(each.text);
    const auto expected = each.output ? *each.output : "error: " + each.error;
    const auto found = outcome(render(each));
    CHECK(found == expected);
  }
}
