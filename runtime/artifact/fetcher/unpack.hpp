// Unpacks archives by libarchive under an UnpackPolicy. Nothing is written through a link; what
// exists is replaced.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/artifact/rules/archive_kind.hpp"
#include "runtime/artifact/rules/unpack_policy.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

/// Unpacks `archive` into `directory`, which exists and is empty, and tells how many members it
/// has. After an error the directory holds a part that is good for nothing. `rejected` and
/// `too_large` by the policy, `corrupt` for what is no such archive.
Result<std::uint64_t> unpack(const std::string& archive,
                             ArchiveKind kind,
                             const std::string& directory,
                             const UnpackLimits& limits);

/// Unpacks the only file in `archive` as the file `into`. `rejected` if there are more.
Result<> unpack_file(const std::string& archive,
                     ArchiveKind kind,
                     const std::string& into,
                     const UnpackLimits& limits);

}  // namespace nomad::artifact
