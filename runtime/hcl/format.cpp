#include "runtime/hcl/format.hpp"

namespace nomad::hcl {

std::string format(std::string_view text) {
  return std::string{text};
}

}  // namespace nomad::hcl
