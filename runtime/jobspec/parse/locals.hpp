// `locals` of a job file, evaluated in the order of their references. Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/syntax/ast.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"

namespace nomad::jobspec {

struct Local {
  std::string_view name;  ///< lives as long as the file
  const hcl::Expression* expr;
};

struct EvaluatedLocals {
  hcl::Value::Entries values;
  hcl::Diagnostics diagnostics;
  /// "a → b → a" when locals refer to each other; otherwise empty.
  std::string cycle;
};

/// Evaluates `locals` with `outer` as context. Of two with one name the later counts. The first one
/// that fails ends it.
EvaluatedLocals evaluate_locals(const std::vector<Local>& locals, const hcl::EvalContext& outer);

}  // namespace nomad::jobspec
