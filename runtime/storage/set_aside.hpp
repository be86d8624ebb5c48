// Setting a damaged database aside, so that its owner can begin anew and people can look at it.
#pragma once

#include <string>

#include "runtime/base/result.hpp"

namespace nomad::storage {

/// Renames `database`, its write-ahead log and its mark to "<database>.corrupt-<UTC time>…" and
/// returns the new name, under which SQLite finds the log, too. Nothing is removed or written over.
/// When this is interrupted, what is left is no sound database either, and is set aside next time.
/// Nobody has it open.
Result<std::string> set_aside(const std::string& database);

}  // namespace nomad::storage
