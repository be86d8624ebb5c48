// Bytes as Raft names them.
#pragma once

#include "runtime/base/bytes.hpp"

namespace nomad::raft {

using nomad::Bytes;

}  // namespace nomad::raft
