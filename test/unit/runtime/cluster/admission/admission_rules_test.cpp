// How policies of admission are read.
#include "admission_texts.hpp"

namespace nomad::cluster {

TEST_CASE("admission rules: a policy is rules with conditions, in HCL or JSON") {
  check_misread({{pinned},
                 {R"({"rule": {"a": {"condition": "job.ID != ``", "message": "m"}}})"},
                 {R"(rule "a" { condition = "`$` not in job.ID" })"},

                 {"", "the policy has no rule"},
                 {"rule \"a\" {", "At 1:"},
                 {"main = 1",
                  "At 1:1: \"main\" is not known here: a policy has rules, as rule \"name\" { "
                  "condition = \"…\", message = \"…\" }"},
                 {"\nrule { condition = \"a == 1\" }", "At 2:1: a rule is a block with a name"},
                 {"rule \"\" { condition = \"a == 1\" }",
                  "At 1:6: a rule's name has 1 to 128 bytes that can be shown"},
                 {"rule \"a\" {}", "At 1:1: rule \"a\" has no condition"},
                 {"rule \"a\" { condition = [] }", "At 1:12: condition must be a text"},
                 {"rule \"a\" { when = \"x\" }",
                  "At 1:12: \"when\" is no setting of a rule: it has condition and message"},
                 {rule_with("job.ID =="), "At 1:1: the condition of rule \"r\": 1:"}});
  const std::string twice = "rule \"a\" { condition = \"job.ID == a\" }\n";
  CHECK(misreading(twice + twice) == "At 2:6: rule \"a\" is there twice");
}

TEST_CASE("admission rules: a policy may be one block that says its name, scope and level") {
  const auto whole
      = [](std::string_view inner) { return fmt::format("policy \"images\" {{\n{}\n}}", inner); };
  const auto rules = AdmissionRules::read(
      whole("scope = \"submit-job\"\nenforcement = \"hard-mandatory\"\n" + pinned));
  REQUIRE(rules.has_value());
  REQUIRE((*rules)->head());
  CHECK((*rules)->head()->name == "images");
  CHECK((*rules)->head()->scope == "submit-job");
  CHECK((*rules)->head()->level == "hard-mandatory");
  CHECK_FALSE((*AdmissionRules::read(pinned))->head());
  const auto short_form = AdmissionRules::read(
      whole("enforcement = \"advisory\"\nrule = \"job.ID != ``\"\nmessage = \"m\""));
  REQUIRE(short_form.has_value());
  CHECK((*short_form)->head()->level == "advisory");

  check_misread(
      {{R"({"policy": {"p": {"enforcement": "advisory", "rule": "job.ID != ``"}}})"},
       {whole(pinned)},
       {whole(""), "the policy has no rule"},
       {whole("level = \"advisory\""),
        "At 2:1: \"level\" is no setting of a policy: it has scope, enforcement and rules"},
       {whole("enforcement = []"), "At 2:1: enforcement must be a text"},
       {whole("message = \"m\"" + pinned), "At 1:1: a message is of a rule"},
       {whole("rule = \"job.ID ==\""), "At 1:1: the condition of rule \"images\": 1:"},
       {whole("rule = \"job.ID != ``\"" + pinned), "At 3:1: rule must be a text"},
       {"policy { rule = \"job.ID != ``\" }", "At 1:1: a policy is a block with a name"},
       {whole(pinned) + pinned, "At 1:1: a policy is one block, and nothing is beside it"}});
}

TEST_CASE("admission: a policy is bounded") {
  CHECK(misreading("# " + std::string(max_admission_bytes, 'x'))
        == "the policy has more than 65536 bytes");
  CHECK(misreading("rule \"a\" { condition = \"job.ID == a\", message = \""
                   + std::string(1'025, 'x') + "\" }")
        == "At 1:1: the message of rule \"a\" has more than 1024 bytes");
  std::string many;
  for (int i = 0; i <= 100; ++i)
    many += fmt::format("rule \"{}\" {{ condition = \"job.ID == a\" }}\n", i);
  CHECK(misreading(many) == "At 101:1: the policy has more than 100 rules");
}

}  // namespace nomad::cluster
