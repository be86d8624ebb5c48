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

/// The name that people called this program by, as far as it is "nomad" or "nomadctl" (before
/// anything was said of it, too): commands that are shown can be typed as they stand.
std::string_view program_name();
/// To be called before anything is shown. `path` is the first word of the command line.
void note_program_name(std::string_view path);
/// `text` with each "nomadctl " in it as people called this program. Not for texts of others.
std::string as_called(std::string_view text);

}  // namespace nomad::cli
