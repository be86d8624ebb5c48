// Which variables may be written, and which commands a server may hand over ready made.
#include "runtime/cluster/variable_commands.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::cluster;

namespace {

std::string check(std::string_view path) {
  const auto outcome = check_variable("default", path, 1, 1);
  return outcome ? "" : outcome.error().what;
}

}  // namespace

TEST_CASE("variable paths: letters, digits and -_~/, up to 128") {
  for (const auto* good : {"a", "a/b", "A-Z_~9", "nomad/jobs", "nomad/jobs/web/api",
                           "nomad/job-templates/t", "nomadic"})
    CHECK(check(good) == "");
  CHECK(check("") == "variable requires path");
  CHECK(check("a.b") == "invalid path \"a.b\"");
  CHECK(check("a\"b") == "invalid path \"a\\\"b\"");
  CHECK(check(std::string(128, 'a')) == "");
  CHECK_FALSE(check(std::string(129, 'a')).empty());
  CHECK_FALSE(check("nomad/job-templates").empty());
  CHECK_FALSE(check("nomad/job-templates/a/b").empty());
  CHECK_FALSE(check("nomad/other").empty());
}

TEST_CASE("variables: are bounded and not for all namespaces") {
  CHECK(check_variable("default", "a", 1, 65'536).has_value());
  CHECK(check_variable("default", "a", 1, 65'537).has_error());
  CHECK(check_variable("default", "a", 0, 0).error().what == "empty variables are invalid");
  CHECK(check_variable("*", "a", 1, 1).has_error());
}

TEST_CASE("sealed commands: only those of variables and keys") {
  Draft<schema::Command> other;
  other->initNodeDeregister();

  CHECK(is_sealed_command(delete_variable("default", "a", 3)->which()));
  CHECK(is_sealed_command(delete_root_key("k")->which()));
  CHECK_FALSE(is_sealed_command(other.reader().which()));
  CHECK(delete_variable("default", "a", 3)->getVariableApply().getCheckIndex() == 3);
}
