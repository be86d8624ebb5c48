// From the bodies of a job file to a job in api form, driven by the table of fields. Private to
// this folder.
#pragma once

#include <boost/json/object.hpp>

#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"
#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

struct DecodedJob {
  boost::json::object job;
  hcl::Diagnostics diagnostics;
  /// Of content without schema, which counts only when there are no other errors.
  hcl::Diagnostics free_diagnostics;
};

/// Decodes and normalizes a `job` block. `context` holds variables, locals and functions. Of HCL1,
/// maps may stand several times, and values need not have their field's type (weakly_typed).
DecodedJob decode_job(const hcl::Block& block, const hcl::EvalContext& context, bool is_hcl1);

/// What is done to every decoded job, canonicalized or not: names from the label, ports sorted into
/// static and dynamic, defaults of templates and Vault.
void normalize(boost::json::object& job);
void normalize_vault(boost::json::object& vault);

}  // namespace nomad::jobspec
