// Where this program and those that come with it are.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::cli {

/// This program's file.
Result<std::string> own_path();

/// The program `name` beside this one, or where `meson install` puts it, which is
/// ../libexec/nomadctl; in the tree of a build, where `built_in` says. Both are relative to this
/// program's folder. `not_found` says where it should be.
Result<std::string> find_program(std::string_view name, std::string_view built_in = ".");

}  // namespace nomad::cli
