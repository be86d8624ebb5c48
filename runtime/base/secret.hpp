// Comparing secrets.
#pragma once

#include <string_view>

namespace nomad {

/// Whether two secrets are the same, in a time that tells nothing of where they differ. How long
/// they are is no secret.
inline bool same_secret(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  volatile unsigned char differs = 0;  // volatile: the loop is not to end early
  for (std::size_t at = 0; at < left.size(); ++at)
    differs = differs | static_cast<unsigned char>(left[at] ^ right[at]);
  return differs == 0;
}

}  // namespace nomad
