// What of a job this release does not carry out, as the job's schema says ($refused and $unheeded
// in schema/annotations.capnp). The table of it is docs/compatibility.md.
#pragma once

#include "runtime/jobspec/draft_block.hpp"
#include "runtime/jobspec/validate/validate.hpp"

namespace nomad::jobspec {

/// Adds an error for each field that is refused and a warning for each that is unheeded, both with
/// the blocks that it stands in. What is empty, or says what holds anyway, is neither.
///
/// Takes the server form. With `allow_refused`, which operators set while they move jobs over in
/// stages, what would be errors are warnings.
void check_support(const DraftBlock& job, bool allow_refused, Validation& into);

}  // namespace nomad::jobspec
