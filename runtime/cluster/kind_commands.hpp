// Decisions about kinds of which one is put or removed as a whole, by their descriptors
// (runtime/state/kinds/kinds.hpp). What a descriptor refuses is judged against the snapshot, and
// once more where the command is applied: so what it looks at needs no guard. May depend on:
// runtime/base, access, jobspec, object, state.
#pragma once

#include "runtime/cluster/job_commands.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {

/// The command that stores what `payload` brings.
template <class Kind, class Payload>
Object<schema::Command> put_command(Payload payload) {
  Draft<schema::Command> draft;
  ((*draft).*Kind::put.set)(payload);
  return draft.freeze();
}

/// The command that removes the one of that key.
template <class Kind>
Object<schema::Command> remove_command(std::string_view key) {
  Draft<schema::Command> draft;
  ((*draft).*Kind::remove.set)(std::string{key});
  return draft.freeze();
}

/// Puts one, if it has no mistakes.
template <class Kind>
Result<Decision> decide_put(const state::Snapshot& state,
                            const access::Asking& asking,
                            typename Kind::Reader wanted) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if constexpr (requires { &Kind::mistakes; })
    if (const auto mistakes = Kind::mistakes(wanted); !mistakes.empty())
      return Error{Errc::invalid_argument, jobspec::join_errors(mistakes)};
  if constexpr (requires { &Kind::may_put; })
    if (auto error
        = Kind::may_put(state.unguarded().tables(), state.row<Kind>(Kind::key(wanted)), wanted))
      return *std::move(error);
  return Decision{allowed, put_command<Kind>(wanted)};
}

/// Removes the one of that key.
template <class Kind>
Result<Decision> decide_remove(const state::Snapshot& state,
                               const access::Asking& asking,
                               std::string_view key) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto row = state.row<Kind>(key);
  if (!row) return Error{Errc::not_found, Kind::missing(key)};
  if constexpr (requires { &Kind::may_remove; })
    if (auto error = Kind::may_remove(state.unguarded().tables(), *row)) return *std::move(error);
  return Decision{allowed, remove_command<Kind>(key)};
}

}  // namespace nomad::cluster
