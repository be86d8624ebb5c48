// SealedWritten: what came of a command of a variable or of the keyring. Whoever asks has made and
// sealed it: nothing unsealed is ever in a message or in the log, whoever leads.
#pragma once

#include "actors/server/committed.hpp"

namespace nomad::server {

struct SealedWritten {
  using is_message = void;
  bool conflict = false;              ///< Nothing was written: `variable` is stored instead.
  Object<schema::Variable> variable;  ///< As written; empty after a deletion and of keys.
  std::uint64_t index = 0;
};

inline Result<SealedWritten> to_sealed(const Result<raft::Applied>& applied) {
  if (!applied) return applied.error();
  const auto& error = applied->outcome.error;
  const auto outcome = std::static_pointer_cast<const state::Outcome>(applied->outcome.value);
  const bool conflict = error && outcome && outcome->variable;
  if (error && !conflict) return *error;
  return SealedWritten{conflict, outcome ? outcome->variable : Object<schema::Variable>{},
                       index_of(*applied)};
}

}  // namespace nomad::server
