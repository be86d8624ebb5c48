#include "runtime/hcl/eval/eval.hpp"

#include <doctest/doctest.h>

#include "runtime/hcl/syntax/parser.hpp"
#include "test/unit/runtime/hcl/cases.hpp"

namespace nomad::hcl {

namespace {

void check_table(std::string_view name, const EvalContext* context) {
  check_cases(name, [context](const std::string& input) { return show_evaluated(input, context); });
}

}  // namespace

TEST_CASE("evaluate: expressions have the reference's values and complaints") {
  const Scope scope;

  check_table("expressions.txt", &scope.context);
}

TEST_CASE("evaluate: functions have the reference's values and complaints") {
  const Scope scope;

  check_table("functions.txt", &scope.context);
}

TEST_CASE("evaluate: without a context only constants are allowed") {
  check_table("constants.txt", nullptr);
}

TEST_CASE("evaluate: an unknown root name goes to the hook of the nearest context") {
  const Parsed parsed = parse_expression("f.hcl", "\"${NOMAD_IP_x}:${node.class}\"");
  std::vector<std::pair<std::string, Value>> variables;
  EvalContext outer;
  outer.variables = &variables;
  outer.undefined_variable = [](const VariableExpr& variable) {
    return Evaluated{
        Value::string("<" + std::string{variable.file->source().text(variable.span)} + ">"), {}};
  };
  EvalContext inner;
  inner.parent = &outer;

  const Evaluated out = evaluate(*parsed.file->expression(), &inner);

  CHECK(out.ok());
  CHECK(show(out.value) == "\"<NOMAD_IP_x>:<node.class>\"");
}

TEST_CASE("evaluate: a variable of an inner context hides one of an outer") {
  const Parsed parsed = parse_expression("f.hcl", "[a, b]");
  const std::vector<std::pair<std::string, Value>> outer_variables{{"a", Value::number(1)},
                                                                   {"b", Value::number(2)}};
  const std::vector<std::pair<std::string, Value>> inner_variables{{"a", Value::number(3)}};
  EvalContext outer;
  outer.variables = &outer_variables;
  EvalContext inner;
  inner.parent = &outer;
  inner.variables = &inner_variables;

  CHECK(show(evaluate(*parsed.file->expression(), &inner).value) == "[3, 2]");
}

TEST_CASE(
    "evaluate: work is bounded by the budget, told once, and shared by a context's evaluations") {
  Scope scope;
  EvalBudget budget{.limits = {.work = 10'000 * Work::step}};
  scope.context.budget = &budget;
  const Parsed loop = parse_expression(
      "f.hcl", "[for a in range(1000): [for b in range(1000): [for c in range(1000): a]]]");
  const Parsed simple = parse_expression("f.hcl", "1 + 1");

  const Evaluated first = evaluate(*loop.file->expression(), &scope.context);
  const Evaluated second = evaluate(*simple.file->expression(), &scope.context);

  REQUIRE(first.diagnostics.size() == 1);
  CHECK(first.diagnostics[0].to_string()
        == "f.hcl:1,70-71: Evaluation limit exceeded; Evaluating this text takes more work than is "
           "allowed.");
  CHECK(second.value.is_unknown());
  CHECK(budget.work.used() < 20'000 * Work::step);
}

TEST_CASE("evaluate: what is made in all is bounded, however small each value is") {
  Scope scope;
  EvalBudget budget;
  budget.limits.made_bytes = 10'000;
  scope.context.budget = &budget;
  const char* texts[] = {"\"0123456789${\"\"}\"", "upper(\"0123456789\")", "\"0123456789\""};
  for (const char* text : texts) {
    CAPTURE(text);
    budget.bytes_made = 0;
    budget.exhausted = false;
    const Parsed parsed = parse_expression("f.hcl", text);
    int fits = 0;
    while (fits < 2'000 && evaluate(*parsed.file->expression(), &scope.context).ok())
      ++fits;
    CHECK(fits > 100);
    CHECK(fits <= 1'000);
  }
}

TEST_CASE("evaluate: values that double at each step hit the limit on a value's size") {
  Scope scope;
  std::string text = "\"0123456789\"";
  for (int i = 0; i < 60; ++i)
    text = "[for x in [" + text + "]: [x, x]]";
  const Parsed parsed = parse_expression("f.hcl", text);
  REQUIRE(parsed.ok());

  const Evaluated out = evaluate(*parsed.file->expression(), &scope.context);

  REQUIRE(!out.ok());
  CHECK(out.diagnostics[0].summary == "Evaluation limit exceeded");
  CHECK(out.diagnostics[0].detail == "This value is larger or more deeply nested than is allowed.");
}

TEST_CASE("evaluate: a text that is put together hits the limit on a value's size") {
  Scope scope;
  EvalBudget budget;
  budget.limits.value_weight = 10;
  scope.context.budget = &budget;

  CHECK(show_evaluated("\"${var.s}, ${var.s}, ${var.s}\"", &scope.context)
        == "= unknown(string)\n! f.hcl:1,1-31: Evaluation limit exceeded; This text is longer than is "
           "allowed.\n");
}

TEST_CASE("evaluate: functions refuse results out of proportion") {
  const Scope scope;
  const char* calls[] = {
      "replace(join(\"\", [for i in range(1000): \"aaaaaaaaaaaaaaaaaaaa\"]), \"\", join(\"\", [for "
      "i in range(1000): \"bbbbbbbbbb\"]))",
      "indent(20000000, \"a\\nb\")",
      "format(\"%99999999d\", 1)",
      "setproduct(range(1024), range(1024), range(1024))",
      "bcrypt(\"a\", 31)",
      "yamldecode(\"a: &a [x,x,x,x,x,x,x,x,x]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\\nc: &c "
      "[*b,*b,*b,*b,*b,*b,*b,*b,*b]\\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\\ne: &e "
      "[*d,*d,*d,*d,*d,*d,*d,*d,*d]\\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\\ng: &g "
      "[*f,*f,*f,*f,*f,*f,*f,*f,*f]\\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\\n\")",
  };
  for (const char* call : calls) {
    CAPTURE(call);
    CHECK(show_evaluated(call, &scope.context).find("!") != std::string::npos);
  }
}

}  // namespace nomad::hcl
