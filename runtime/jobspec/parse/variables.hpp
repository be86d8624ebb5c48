// Input variables of a job file: declarations, values from everywhere, validation. Private to this
// folder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"
#include "runtime/hcl/value/value.hpp"

namespace nomad::jobspec {

struct ParseOptions;

class Variables {
public:
  /// `functions` are for validations; both must outlive this.
  Variables(const hcl::FunctionTable& functions, hcl::Diagnostics& diagnostics)
      : functions_{functions}, diagnostics_{diagnostics} {}

  /// A `variable "name"` block.
  void declare(const hcl::Block& block);
  /// A `variables` block: each attribute is a variable without type.
  void declare_all(const hcl::Block& block);

  /// Assigns values: the environment's, then the files', then those given one by one.
  void assign(const ParseOptions& options,
              const std::vector<std::shared_ptr<const hcl::File>>& files);

  /// Every variable's value, checked; unset ones are errors and unknown.
  hcl::Value::Entries values();

private:
  struct Assignment {
    std::string_view from;  ///< "default", "env", "varfile" or "cmd"
    hcl::Value value;
    hcl::Range range;
  };

  struct Validation {
    const hcl::Expression* condition = nullptr;
    std::string message;
    hcl::Range range;
  };

  struct Variable {
    std::string name;
    std::optional<hcl::Type> type;
    std::optional<Assignment> value;
    std::vector<Validation> validations;
  };

  void report(hcl::Diagnostic diagnostic) { diagnostics_.push_back(std::move(diagnostic)); }

  Variable* find(std::string_view name);
  bool declare_default(const hcl::Attribute& attribute, Variable& variable);
  Validation declare_validation(const std::string& name, const hcl::Block& block);
  void check_condition(const std::string& name, const hcl::Attribute& attribute);
  void check_message(const hcl::Attribute& attribute, std::string& message);
  void assign_text(Variable& variable, std::string_view from, const std::string& text);
  bool assign_file(const std::shared_ptr<const hcl::File>& file, bool strict);
  void set(Variable& variable, Assignment assignment, std::string summary, std::string what);
  void validate(const Variable& variable);

  const hcl::FunctionTable& functions_;
  hcl::Diagnostics& diagnostics_;
  std::vector<std::unique_ptr<Variable>> variables_;
  std::unordered_map<std::string_view, Variable*> by_name_;
};

}  // namespace nomad::jobspec
