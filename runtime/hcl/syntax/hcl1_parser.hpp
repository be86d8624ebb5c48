// HCL1 for those who have to see each setting: `parse_hcl1` (parser.hpp) reads as HCL1 does, where
// the last of several settings of one name counts, or lists are joined, and nobody sees the others.
//
// Pure.
#pragma once

#include <string>

#include "runtime/hcl/syntax/parser.hpp"

namespace nomad::hcl {

/// As `parse_hcl1`, but a body has all settings of one name, in the order of the text. JSON has
/// them anyway.
Parsed parse_repeating_hcl1(std::string file_name, std::string text);

}  // namespace nomad::hcl
