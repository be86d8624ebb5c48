#include "runtime/template/eval/sources.hpp"

#include <doctest/doctest.h>

using namespace nomad::templates;

TEST_CASE("sources: a variable that a template waits for is found in the text that names it") {
  const VariableQuery query{
      .path = "nomad/jobs/web", .name_space = "team", .region = "eu", .waits = true};

  CHECK(awaited_variable_in("Missing: " + to_string(query)) == query);
  CHECK(awaited_variable_in("Missing: nomad.service(db), " + to_string(query) + " and more")
        == query);
  CHECK_FALSE(awaited_variable_in("Missing: nomad.service(db)"));
  CHECK_FALSE(
      awaited_variable_in(to_string(VariableQuery{.path = "a"})));  // it is told, not awaited
  CHECK_FALSE(awaited_variable_in("nomad.var.block("));
  CHECK_FALSE(awaited_variable_in("nomad.var.block(@default.global)"));
}
