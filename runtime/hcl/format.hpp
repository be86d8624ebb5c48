// Canonical layout of native HCL, as `nomad fmt` writes it.
#pragma once

#include <string>
#include <string_view>

namespace nomad::hcl {

/// `text` with canonical indentation, spacing and aligned equals signs. Comments, blank lines and
/// everything that carries meaning stay; formatting the result again changes nothing. Text that
/// does not parse is laid out as far as its tokens allow.
std::string format(std::string_view text);

}  // namespace nomad::hcl
