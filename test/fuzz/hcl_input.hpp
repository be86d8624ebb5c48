// What the fuzz targets of the HCL language share: the names and functions that a text may use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/functions/functions.hpp"
#include "runtime/hcl/syntax/ast.hpp"
#include "runtime/hcl/syntax/lexer.hpp"
#include "test/fuzz/input.hpp"

namespace fuzz {

/// Types and bytes of all tokens: a text without its layout.
inline std::vector<std::pair<nomad::hcl::TokenType, std::string>> tokens(const std::string& text) {
  std::vector<std::pair<nomad::hcl::TokenType, std::string>> out;
  for (const nomad::hcl::Token& token : nomad::hcl::lex(text, nomad::hcl::Syntax::native))
    out.emplace_back(token.type, text.substr(token.begin, token.end - token.begin));
  return out;
}

/// A context with all functions and a few variables; unknown names stand for themselves, as names
/// of the run time do in job files. What looks random is the same each time.
class Scope {
public:
  Scope() {
    using nomad::hcl::Value;
    const Value list = Value::tuple({Value::string("a"), Value::string("b"), Value::null()});
    variables_.emplace_back(
        "var", Value::object({{"s", Value::string("text")},
                              {"n", Value::number(nomad::hcl::Number{3})},
                              {"b", Value::boolean(true)},
                              {"l", list},
                              {"o", Value::object({{"k", list}, {"z", Value::null()}})}}));
    context_.variables = &variables_;
    static const nomad::hcl::FunctionTable functions = nomad::hcl::job_functions(
        {.files = nullptr, .random = [](std::array<std::uint8_t, 16>& bytes) { bytes.fill(7); }});
    context_.functions = &functions;
    context_.budget = &budget_;
    context_.undefined_variable = [](const nomad::hcl::VariableExpr& reference) {
      return nomad::hcl::Evaluated{nomad::hcl::Value::string(reference.root_name()), {}};
    };
  }

  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  const nomad::hcl::EvalContext* context() const { return &context_; }

  /// Evaluates and checks what every evaluation promises.
  nomad::hcl::Value evaluate(const nomad::hcl::Expression& expression) {
    budget_ = nomad::hcl::EvalBudget{.limits = limits};
    nomad::hcl::Evaluated out = nomad::hcl::evaluate(expression, &context_);
    require(!out.ok() || out.value.is_wholly_known(), "a value without errors is known");
    require(out.value.height() <= limits.value_height, "values are not too deep");
    require(out.value.weight() <= limits.value_weight, "values are not too large");
    for (const nomad::hcl::Diagnostic& diagnostic : out.diagnostics)
      static_cast<void>(render(diagnostic));
    return out.value;
  }

private:
  static constexpr nomad::hcl::EvalLimits limits{
      .work = 100'000 * nomad::Work::step, .value_weight = 1U << 20U, .value_height = 100};

  std::vector<std::pair<std::string, nomad::hcl::Value>> variables_;
  nomad::hcl::EvalBudget budget_;
  nomad::hcl::EvalContext context_;
};

}  // namespace fuzz
