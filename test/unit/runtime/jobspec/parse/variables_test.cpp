// Values for a job file's variables: where they come from and what is wrong with them.
#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/parse/parse_job.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using namespace nomad::jobspec;

namespace {

const std::string job_file = R"(variable "a" {
  type    = string
  default = "default"
}
variable "n" {
  type    = number
  default = 1
}
variable "l" {
  type    = list(string)
  default = []
}
job "j" {
  meta {
    a = var.a
    n = "${var.n}"
    l = join(",", var.l)
  }
}
)";

/// The values that the job saw, as "a n l"; else the error.
std::string seen(const ParseOptions& options) {
  const ParsedJob parsed = parse_job("input.hcl", job_file, options);
  if (!parsed.ok()) return parsed.error;
  const auto& meta = parsed.job.at("Meta").as_object();
  const auto text = [&](std::string_view name) { return std::string{meta.at(name).as_string()}; };
  return text("a") + " " + text("n") + " " + text("l");
}

std::string with_argument(std::string name, std::string value, bool strict = false) {
  ParseOptions options;
  options.variables.emplace_back(std::move(name), std::move(value));
  options.strict = strict;
  return seen(options);
}

std::string with_file(std::string text, bool strict = false) {
  ParseOptions options;
  options.var_files.push_back({"vars.hcl", std::move(text)});
  options.strict = strict;
  return seen(options);
}

}  // namespace

TEST_CASE("later sources win: default, environment, files, arguments") {
  ParseOptions options;
  CHECK(seen(options) == "default 1 ");
  options.environment = {"PATH=/bin", "NOMAD_VAR_a=env", "NOMAD_VAR_n=2", "NOMAD_VAR_l=[\"p\"]"};
  CHECK(seen(options) == "env 2 p");
  options.var_files = {{"one.hcl", "a = \"one\"\n"}};
  CHECK(seen(options) == "one 2 p");
  options.var_files.push_back({"two.hcl", "a = \"two\"\nn = 3\n"});
  CHECK(seen(options) == "two 3 p");
  options.var_content = "n = 4\n";
  CHECK(seen(options) == "two 4 p");
  options.variables = {{"a", "first"}, {"a", "second"}};
  CHECK(seen(options) == "second 4 p");
}

TEST_CASE("arguments are text for texts and expressions for the rest") {
  CHECK(with_argument("a", "\"quoted\"") == "\"quoted\" 1 ");
  CHECK(with_argument("a", "") == " 1 ");
  CHECK(with_argument("a", "x=${y}") == "x=${y} 1 ");
  CHECK(with_argument("l", R"(["x", "y"])") == "default 1 x,y");
  CHECK(with_argument("l", "x")
        == "<value for var.l from arguments>:1,1-2: Variables not allowed; Variables may not be "
           "used here.");
  CHECK(with_argument("l", "[")
        == "<value for var.l from arguments>:1,2-2: Invalid expression; Expected the start of an "
           "expression, but found an invalid expression token.");
  CHECK(with_argument("l", "[upper(\"x\")]")
        == "<value for var.l from arguments>:1,2-12: Function calls not allowed; Functions may not "
           "be called here.");
  CHECK(with_argument("n", "x")
        == ":0,0-0: Invalid argument value for -var variable; The received arg value for n is not "
           "compatible with the variable's type constraint: a number is required.");
}

TEST_CASE("values for variables that are not declared") {
  CHECK(with_argument("zz", "1") == "default 1 ");
  CHECK(with_argument("zz", "1", true)
        == "<nil>: Undefined -var variable; A \"zz\" variable was passed in the command line but was "
           "not found in known variables. To declare variable \"zz\", place this block in your job "
           "file");
  CHECK(with_file("zz = 1\n") == "default 1 ");
  CHECK(with_file("zz = 1\n", true)
        == "<nil>: Undefined variable; A \"zz\" variable was set but was not found in known "
           "variables. To declare variable \"zz\", place this block in your job files");
  ParseOptions options;
  options.environment = {"NOMAD_VAR_zz=1"};
  options.strict = true;
  CHECK(seen(options) == "default 1 ");
}

TEST_CASE("mistakes in files of values") {
  CHECK(with_file("a = \n").starts_with("unable to parse var file: vars.hcl:1,5-2,1: "));
  CHECK(with_file("a {\n}\n")
        == "vars.hcl:1,1-2: Unexpected \"a\" block; Blocks are not allowed here.");
  CHECK(with_file("a = upper(\"x\")\n")
        == "vars.hcl:1,5-15: Function calls not allowed; Functions may not be called here.");
  CHECK(with_file("a = var.n\n")
        == "vars.hcl:1,5-8: Variables not allowed; Variables may not be used here.");
  CHECK(with_file("n = \"x\"\n")
        == "vars.hcl:1,5-8: Invalid value for variable; The value for n is not compatible with the "
           "variable's type constraint: a number is required.");
  ParseOptions options;
  options.var_content = "a = \"x\"\na = \"y\"\n";
  CHECK(seen(options)
        == "unable to parse var content: input.hcl:2,1-2: Attribute redefined; The argument \"a\" "
           "was already set at input.hcl:1,1-2. Each argument may be set only once.");
}

TEST_CASE("a file of values declares no variables") {
  CHECK(with_file("variable \"b\" {\n  default = 1\n}\n")
        == "vars.hcl:1,1-9: Variable declaration in a .var file; A .var file is used to assign values "
           "to variables that have already been declared in job files, not to declare new variables. "
           "To declare variable \"b\", place this block in one of your job files\n\nTo set a value for "
           "this variable in vars.hcl, use the definition syntax instead:\n    b = <value>");
}

TEST_CASE("mistakes in the rules of a variable") {
  const auto rule = [](const std::string& attributes) {
    return parse_job("input.hcl", "variable \"a\" {\n  default = \"x\"\n  validation {\n"
                                      + attributes
                                      + "  }\n}\njob \"j\" {\n  meta {\n    a = var.a\n  }\n}\n")
        .error;
  };
  CHECK(rule("    condition = var.a == \"x\"\n    error_message = \"Not x.\"\n") == "");
  CHECK(rule("    condition = var.a == \"x\"\n    error_message = \"\"\n")
        == "input.hcl:5,21-23: Invalid validation error message; An empty string is not a valid nor "
           "useful error message.");
  CHECK(rule("    error_message = \"Not x.\"\n")
        == "input.hcl:3,14-14: Missing required argument; The argument \"condition\" is required, but "
           "no definition was found.\ninput.hcl:3,3-13: Invalid variable validation specification; "
           "validation requires a condition.");
  CHECK(rule("    condition = var.a == \"x\" ? null : true\n    error_message = \"Not x.\"\n")
        == "input.hcl:4,17-43: Invalid variable validation result; Validation condition expression "
           "must return either true or false, not null.");
  CHECK(rule("    condition = \"${var.a}y\"\n    error_message = \"Not x.\"\n")
        == "input.hcl:4,17-28: Invalid variable validation result; Invalid validation condition "
           "result value: a bool is required.");
}

TEST_CASE("files of values may be JSON") {
  CHECK(with_file("{\"a\": \"x\", \"l\": [\"p\", \"q\"]}") == "x 1 p,q");
}
