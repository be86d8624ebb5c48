// Values of expressions as JSON of a field's kind, with the decoder's error texts. Private to this
// folder.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"
#include "runtime/hcl/value/value.hpp"
#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

/// A value as JSON, or why it is none ("Unsuitable value: a number is required").
struct DecodedValue {
  boost::json::value json;
  std::string error;

  bool ok() const { return error.empty(); }
};

/// `value` as a field of `kind`; null is allowed when the field is `nullable`.
DecodedValue decode_value(const hcl::Value& value, Kind kind, bool nullable);

/// `value` as HCL1's reader takes it for a field of `kind`: a truth is the text "1" or "0", and
/// what is no list stands for a list of one.
hcl::Value weakly_typed(const hcl::Value& value, Kind kind);

/// `value` as it stands: numbers without fraction become integers.
DecodedValue decode_free_value(const hcl::Value& value);

/// A name in a body without schema: an attribute, or all blocks of one type.
struct FreeAttribute {
  std::string name;
  const hcl::Expression* expr = nullptr;
  std::vector<const hcl::BlockNode*> blocks{};  ///< of native files, when `expr` is null

  /// Where conversion errors are reported.
  hcl::Span start() const;
  const hcl::File& file() const;
};

/// Everything in a body without schema. Diagnostics arise for JSON files only.
std::vector<FreeAttribute> free_attributes(const hcl::Body& body, hcl::Diagnostics& diagnostics);

/// The attribute's value: a nested block is an object in a list, its labels are objects around it.
hcl::Evaluated evaluate_free(const FreeAttribute& attribute, const hcl::EvalContext* context);

}  // namespace nomad::jobspec
