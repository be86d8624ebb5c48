// Where this program and those that come with it are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
/// Overwrites the secrets on the command line, so that no list of processes has them: the values of
/// flags whose names end in "token", of -encrypt, and of X-Nomad-Token headers. The words have to
/// be copied before.
void hide_secrets(int count, char** words);

/// The environment for programs that are none of this project's: this one's without its secrets.
std::vector<std::string> environment_without_secrets();

/// `text` with each "nomadctl " in it as people called this program. Not for texts of others.
std::string as_called(std::string_view text);

}  // namespace nomad::cli
