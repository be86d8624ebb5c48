// Comparing secrets.
#pragma once

#include <string_view>

namespace nomad {

/// Whether two secrets are the same, in a time that tells nothing of where they differ. How long
/// they are is no secret.
bool same_secret(std::string_view left, std::string_view right);

}  // namespace nomad
