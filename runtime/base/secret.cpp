#include "runtime/base/secret.hpp"

#include <sodium.h>

namespace nomad {

bool same_secret(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  return left.empty() || sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace nomad
