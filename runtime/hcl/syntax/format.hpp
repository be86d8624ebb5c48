// Canonical layout of native HCL, as `nomad fmt` writes it.
#pragma once

#include <string>
#include <string_view>

namespace nomad::hcl {

/// `text` with canonical indentation, spacing and aligned equals signs and comments. Only white
/// space between tokens changes, so comments, blank lines and everything that carries meaning stay,
/// and formatting the result again changes nothing. A text with syntax errors comes back unchanged,
/// as does one whose layout would be many times its size.
std::string format(std::string_view text);

}  // namespace nomad::hcl
