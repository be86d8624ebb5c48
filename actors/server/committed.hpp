// Committed: what a command came to once the log has it; and how commands are made.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/raft/proposer.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/store.hpp"
#include "schema/command.capnp.h"

namespace nomad::server {

/// An applied command.
struct Committed {
  std::uint64_t index = 0;
  std::shared_ptr<const state::Outcome> outcome;
};

/// What the state calls an applied entry.
inline std::uint64_t index_of(const raft::Applied& applied) {
  return applied.outcome.index != 0 ? applied.outcome.index : applied.index;
}

/// An applied proposal as its outcome, or the error of either.
inline Result<Committed> to_committed(const Result<raft::Applied>& applied) {
  if (!applied) return applied.error();
  if (applied->outcome.error) return *applied->outcome.error;
  return Committed{index_of(*applied),
                   std::static_pointer_cast<const state::Outcome>(applied->outcome.value)};
}

}  // namespace nomad::server
