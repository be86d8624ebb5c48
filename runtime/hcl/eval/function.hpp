// Function and FunctionTable: what an expression can call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"
#include "runtime/hcl/value/value.hpp"

namespace nomad::hcl {

/// Why a call failed. With `argument`, the position of the argument at fault.
struct FunctionError {
  FunctionError(std::string why, std::optional<std::size_t> at = std::nullopt)
      : message{std::move(why)}, argument{at} {}

  FunctionError(const Error& error) : message{error.what} {}

  std::string message;
  std::optional<std::size_t> argument;
};

/// What a function gives, or why it gives nothing. NOMAD_TRY takes it like a Result.
template <class T>
class Outcome {
public:
  Outcome(T value) : held_{std::move(value)} {}

  Outcome(FunctionError error) : held_{std::move(error)} {}

  Outcome(const Error& error) : held_{FunctionError{error}} {}

  bool has_error() const { return held_.index() == 1; }

  const FunctionError& error() const { return std::get<FunctionError>(held_); }

  T take() && { return std::move(std::get<T>(held_)); }

private:
  std::variant<T, FunctionError> held_;
};

using FunctionResult = Outcome<Value>;

struct Parameter {
  std::string_view name;
  Type type{};
  bool allow_null = false;
  bool allow_unknown = false;
};

/// A function of the language. Pure, except for those that read files or draw random numbers
/// through hooks.
struct Function {
  /// `try`, `can` and `convert` see their arguments unevaluated and are part of the evaluator.
  enum class Form : std::uint8_t { plain, try_, can, convert };

  std::string_view name;
  std::vector<Parameter> parameters{};
  std::optional<Parameter> variadic{};
  /// Arguments arrive converted to the parameters' types, not null and not unknown unless the
  /// parameter allows it (elements within them may be).
  std::function<FunctionResult(std::span<const Value>)> call{};
  Form form = Form::plain;
  /// Work beyond reading the arguments, in evaluation steps.
  std::function<std::uint64_t(std::span<const Value>)> cost{};
  /// Instead of `call`: of those that take from the budget while they run.
  std::function<FunctionResult(std::span<const Value>, Work&)> working{};
};

/// Functions by name, sorted.
class FunctionTable {
public:
  explicit FunctionTable(std::vector<Function> functions);

  const Function* find(std::string_view name) const;

  const std::vector<Function>& all() const noexcept { return functions_; }

private:
  std::vector<Function> functions_;
};

}  // namespace nomad::hcl
