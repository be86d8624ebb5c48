#include "runtime/hcl/functions.hpp"

namespace nomad::hcl {

FunctionTable job_functions(FunctionOptions options) {
  static_cast<void>(options);
  return FunctionTable{{}};
}

}  // namespace nomad::hcl
