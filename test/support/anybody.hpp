// Whoever asks in tests that are not about access: everything is allowed to him.
#pragma once

#include "runtime/access/authorize.hpp"

namespace nomad::test {

inline access::Asking anybody(access::Capability needed = access::Capability::none) {
  return {{access::Caller{}, nullptr}, needed};
}

}  // namespace nomad::test
