// The functions that templates have besides Go's own.
#pragma once

#include <span>
#include <string>

#include "runtime/template/eval/functions.hpp"

namespace nomad::templates {

/// Of `template` blocks: those of consul-template, with sprig's under "sprig_". Those in `denied`
/// are there, but answer "function is disabled".
Functions task_functions(std::span<const std::string> denied = {});

/// Of nomadctl's -t: sprig's under "sprig_", `json` and `toJSON`.
const Functions& cli_functions();

}  // namespace nomad::templates
