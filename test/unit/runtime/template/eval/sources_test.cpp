#include "runtime/template/eval/sources.hpp"

#include <doctest/doctest.h>

using namespace nomad::templates;

TEST_CASE("sources: the variable that is awaited is one that a template waits for in vain") {
  const VariableQuery waits{
      .path = "nomad/jobs/web", .name_space = "team", .region = "eu", .waits = true};
  auto tells = waits;
  tells.waits = false;

  CHECK(Dependencies{{{waits, false}}}.awaited_variable() == waits);
  CHECK(Dependencies{{{ServiceQuery{.name = "db"}, false}, {waits, false}}}.awaited_variable()
        == waits);
  CHECK_FALSE(Dependencies{{{waits, true}}}.awaited_variable());
  CHECK_FALSE(Dependencies{{{tells, false}}}.awaited_variable());
  CHECK_FALSE(Dependencies{{{ServiceQuery{.name = "db"}, false}}}.awaited_variable());
}
