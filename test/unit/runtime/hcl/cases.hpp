// What the HCL tests share: tables of cases under test/data/hcl, and values as text.
//
// A table holds inputs ("> text", with \n and friends escaped) and below each what it must give.
// The expectations were checked against the reference implementation where they were written.
// NOMAD_REWRITE_TRANSCRIPTS=1 writes down what is given now, to be reviewed as a diff.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/eval/function.hpp"

namespace nomad::hcl {

struct Case {
  std::string input;
  std::string expected;
  std::string line;  ///< The input as the table has it.
};

/// The cases of test/data/hcl/<name>; fails the test when there are none.
std::vector<Case> load_cases(std::string_view name);
std::string load_data(std::string_view name);

/// Each case of test/data/hcl/<name> has to be what `shown` makes of its input.
void check_cases(std::string_view name,
                 const std::function<std::string(const std::string&)>& shown);

/// A value as text that shows its type wherever it is not plain.
std::string show(const Value& value);

/// The variables and functions that the tables use.
struct Scope {
  Scope();

  std::vector<std::pair<std::string, Value>> variables;
  FunctionTable functions;
  EvalContext context;
};

/// "= value" and a "! diagnostic" line for each complaint, as the tables write it.
std::string show_evaluated(const std::string& expression, const EvalContext* context);

}  // namespace nomad::hcl
