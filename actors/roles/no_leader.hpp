// What who needs the leader is told while nobody is known to lead.
#pragma once

#include "runtime/base/result.hpp"

namespace nomad {

/// In Nomad's words, by which its clients know it. Nothing was done: whoever gets it may ask again.
inline Error no_leader() {
  return {Errc::no_leader, "No cluster leader"};
}

}  // namespace nomad
