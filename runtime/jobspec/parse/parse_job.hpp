// Job files: HCL2 (or its JSON variant, or HCL1) to a job in api form.
//
// Variables, locals, functions and `dynamic` blocks are evaluated; names known only at run time
// (`${NOMAD_…}`, `${attr.…}`, `${node.…}`) stay as they are written. What a job means is not
// checked here, see validate.hpp.
//
// Pure but for what the given functions do, and bounded in time and memory whatever the text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "runtime/hcl/eval/function.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"

namespace nomad::jobspec {

/// A named text.
struct NamedText {
  std::string name;
  std::string text;
};

struct ParseOptions {
  /// Values for variables; later sources win over earlier ones.
  std::vector<std::string> environment;  ///< "NOMAD_VAR_name=value"; others are ignored
  std::vector<NamedText> var_files;      ///< read by the caller
  std::string var_content;               ///< the `Variables` of a parse request
  std::vector<std::pair<std::string, std::string>> variables;  ///< -var name=value
  /// The text is HCL1: it has no expressions, and nothing but the job.
  bool hcl1 = false;
  /// Setting a variable that the file does not declare is an error.
  bool strict = false;
  /// What the file may call, made by `hcl::job_functions`. Null: a table without file access is
  /// made for this call. Must outlive the call.
  const hcl::FunctionTable* functions = nullptr;
};

struct ParsedJob {
  /// The job in complete api form, not canonicalized; empty when there are errors.
  boost::json::object job;
  /// Everything found, warnings included, in the order found.
  hcl::Diagnostics diagnostics;
  /// The text clients see behind "Failed to parse job: "; empty when the file is good.
  std::string error;

  bool ok() const { return error.empty(); }
};

/// `file_name` is used in positions; the parse endpoint's is "input.hcl".
ParsedJob parse_job(const std::string& file_name,
                    std::string text,
                    const ParseOptions& options = {});

}  // namespace nomad::jobspec
