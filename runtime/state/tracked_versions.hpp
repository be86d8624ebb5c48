// How many versions of a job are kept, the newest included.
#pragma once

#include <cstddef>

namespace nomad::state {

/// Nomad's, too. A stable one stays among them.
inline constexpr std::size_t tracked_versions = 6;

}  // namespace nomad::state
