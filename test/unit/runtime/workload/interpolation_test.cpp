#include "runtime/workload/interpolation.hpp"

#include <doctest/doctest.h>

using namespace nomad::workload;

namespace {

std::string replaced(std::string_view text) {
  return interpolate(text, [](std::string_view name) -> std::optional<std::string_view> {
    if (name == "a") return "1";
    if (name == "NOMAD_x-y.Z09") return "${a}";
    if (name == "empty") return "";
    return std::nullopt;
  });
}

}  // namespace

TEST_CASE("interpolation: known names are replaced, wherever they stand") {
  CHECK(replaced("${a}") == "1");
  CHECK(replaced("x${a}y${a}") == "x1y1");
  CHECK(replaced("${a}${empty}z") == "1z");
  CHECK(replaced("${NOMAD_x-y.Z09}") == "${a}");  // a value is not looked into again
  CHECK(replaced("nothing") == "nothing");
  CHECK(replaced("").empty());
}

TEST_CASE("interpolation: what is no name stays as it is") {
  for (const char* text :
       {"${unknown}", "${}", "${a", "${", "$a", "${a b}", "${a/}", "${a[0]}", "${unknown} ${}"})
    CHECK(replaced(text) == text);
  CHECK(replaced("${unknown}${a}") == "${unknown}1");
  CHECK(replaced("${${a}") == "${1");
  CHECK(replaced("${a}${") == "1${");
}

TEST_CASE("interpolation: members are named in brackets, too") {
  const Lookup known = [](std::string_view name) -> std::optional<std::string_view> {
    if (name == "meta.a/b c") return "of the node";
    if (name == "odd name") return "of the task";
    return std::nullopt;
  };
  CHECK(interpolate(R"(x${meta["a/b c"]}y)", known) == "xof the nodey");
  CHECK(interpolate(R"(${env["odd name"]})", known) == "of the task");
  for (const auto* text : {R"(${env["unknown"]})", R"(${env["odd name"})", R"(${env["odd name"] })",
                           R"(${env["odd name]})", R"(${env[""]})", R"(${["odd name"]})",
                           R"(${env["odd name)", "${env["})
    CHECK(interpolate(text, known) == text);
}

TEST_CASE("interpolation: names of variables keep letters, underscores, dots and later digits") {
  CHECK(clean_variable("azAZ_09") == "azAZ_09");
  CHECK(clean_variable("9to5") == "_to5");
  CHECK(clean_variable("a-b.c/d") == "a_b.c_d");
  CHECK(clean_variable("@[`{:/") == "______");  // the neighbours of letters and digits
  CHECK(clean_variable("").empty());
}

TEST_CASE(
    "interpolation: a name that is not closed stays, at the end of the text as before a blank") {
  const Lookup known = [](std::string_view) -> std::optional<std::string_view> { return "value"; };
  for (const auto* text : {"${name", "${name ", "${name x}", "${", "${}"})
    CHECK(interpolate(text, known) == text);
  CHECK(interpolate("${a}${b", known) == "value${b");
  CHECK(interpolate("a${b}", known) == "avalue");
  CHECK(interpolate("${b}", known) == "value");
}

TEST_CASE("interpolation: a digit may be anywhere in a variable but at its beginning") {
  CHECK(clean_variable("1a") == "_a");
  CHECK(clean_variable("a1") == "a1");
  CHECK(clean_variable("") == "");
}
