// What rules are told of claims.
#include "runtime/access/login/claim_mapping.hpp"

#include <doctest/doctest.h>

namespace nomad::access {

namespace {

const std::string many_claims = R"({"name":"Ann","admin":true,"n":42,"half":1.5,"none":null,
    "groups":["a","b",7,""],"one":"x","deep":{"a/b":{"c":["d","e"]},"m~n":"t"},"big":1e19,"mixed":["a",{}],
    "no":false,"end~":"e","a~":{"2":"z"},"~2":"w"})";

Result<MappedClaims> mapped(const ClaimMapping& values, const ClaimMapping& lists = {}) {
  const auto claims = read_claims(many_claims);
  REQUIRE(claims);
  return map_claims(*claims, values, lists);
}

std::string value_of(const std::string& source) {
  const auto all = mapped({{source, "v"}});
  if (!all) return "! " + all.error().what;
  const auto found = all->values.find("v");
  return found == all->values.end() ? "(missing)" : found->second;
}

std::string filled(const std::string& name) {
  const auto done = fill_bind_name(name, {{{"team", "Ops-EU"}, {"a b", "c"}}, {{"l", {"x"}}}});
  return done ? *done : "! " + done.error().what;
}

}  // namespace

TEST_CASE("claim mapping: what can never be filled is no bind name") {
  const auto why = [](std::string_view name) {
    const auto checked = check_bind_name(name);
    return checked ? std::string{} : checked.error().what;
  };
  for (const auto* name :
       {"", "dev", "${value.team}", "a-${ value.team }-${value.b}", "$${x", "$$${x}"})
    CHECK(why(name).empty());
  CHECK(why("a-${value.b") == "bind name is invalid: \"${\" has no \"}\"");
  CHECK(why("${value.a}${b}") == "bind name is invalid: \"b\" is no claim, as ${value.name} is");
  CHECK(why("${value.}") == "bind name is invalid: \"value.\" is no claim, as ${value.name} is");
  CHECK(why("${}") == "bind name is invalid: \"\" is no claim, as ${value.name} is");
}

TEST_CASE("claim mapping: texts, numbers and booleans, by name or by pointer") {
  CHECK(value_of("name") == "Ann");
  CHECK(value_of("admin") == "true");
  CHECK(value_of("n") == "42");
  CHECK(value_of("half") == "1");
  CHECK(value_of("none") == "(missing)");
  CHECK(value_of("other") == "(missing)");
  CHECK(value_of("/deep/a~1b/c/1") == "e");
  CHECK(value_of("/deep/m~0n") == "t");
  CHECK(value_of("/deep/a~1b/c/2") == "(missing)");
  CHECK(value_of("/deep/a~1b/c/0") == "d");
  CHECK(value_of("/deep/a~1b/c/x") == "(missing)");
  CHECK(value_of("/name/x") == "(missing)");
  CHECK(value_of("no") == "false");
  CHECK(value_of("/end~") == "e");  // no escape, so it stays
  CHECK(value_of("/~2") == "w");
  CHECK(value_of("/a~0/2") == "z");
  CHECK(value_of("/") == "(missing)");
  CHECK(value_of("deep")
        == "! error converting claim 'deep' to string from unknown type map[string]interface {}");
  CHECK(value_of("big") == "! error converting claim 'big' to string from unknown type float64");
}

TEST_CASE("claim mapping: lists, also of a single value") {
  const auto all = mapped(
      {}, {{"groups", "g"}, {"one", "o"}, {"/deep/a~1b/c", "c"}, {"nobody", "n"}, {"none", "z"}});
  REQUIRE(all);
  CHECK(all->lists.at("g") == std::vector<std::string>{"a", "b", "7"});
  CHECK(all->lists.at("o") == std::vector<std::string>{"x"});
  CHECK(all->lists.at("c") == std::vector<std::string>{"d", "e"});
  CHECK_FALSE(all->lists.contains("n"));
  CHECK_FALSE(all->lists.contains("z"));
  CHECK(mapped({}, {{"deep", "d"}}).error().what
        == "\"deep\" list claim could not be converted to string list");
  CHECK(mapped({}, {{"mixed", "m"}}).error().what
        == "a value in \"mixed\" list claim could not be parsed as string");
}

TEST_CASE("bind name: values are in lower case, what is around them stays") {
  CHECK(filled("Plain") == "Plain");
  CHECK(filled("Dev-${value.team}") == "Dev-ops-eu");
  CHECK(filled("${ value.team }${value.team}") == "ops-euops-eu");
  CHECK(filled("$${value.team}") == "${value.team}");
  CHECK(filled("${value.nobody}") == "! 1:3: unknown variable accessed: value.nobody");
  CHECK(filled("x-${ team}") == "! 1:6: unknown variable accessed: team");
  CHECK(filled("${list.l}") == "! 1:3: unknown variable accessed: list.l");
  CHECK(filled("${value.team") == "! parse error at 1:13: expected \"}\" but found end of string");
}

}  // namespace nomad::access
