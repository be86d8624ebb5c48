// Repositories of git and hg, fetched by the programs of that name.
#pragma once

#include <chrono>
#include <string>

#include "runtime/artifact/rules/source.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

/// Makes the directory `into`, a working copy of the source's repository with its submodules. Keys
/// and settings are kept in `workplace`, a directory. The source has been parsed, so nothing in it
/// passes for an option.
Result<> clone_repository(const Source& source,
                          const std::string& workplace,
                          const std::string& into,
                          std::chrono::nanoseconds timeout);

}  // namespace nomad::artifact
