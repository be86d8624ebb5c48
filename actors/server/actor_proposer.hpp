// ActorProposer: how an actor proposes commands and goes on, in its own turns, when they are
// applied.
//
// What it proposes is the cluster's own work: whoever writes for a caller has a `Writer`.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "actors/core/turns.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/server/committed.hpp"
#include "runtime/access/authorize.hpp"

namespace nomad::server {

/// A command made by `fill`, which gets its builder.
template <class Fill>
Object<schema::Command> make_command(Fill fill) {
  Draft<schema::Command> draft;
  fill(*draft);
  return draft.freeze();
}

class ActorProposer {
public:
  using Then = std::function<void(Result<Committed>)>;
  using ThenRaw = std::function<void(const Result<raft::Applied>&)>;

  /// `own_work` says what the actor writes for (access::own_work).
  ActorProposer(actor::Self* self, raft::Proposer proposer, const access::Allowed& own_work)
      : self_{self},
        turns_{actor::turns_of(self)},
        proposer_{std::move(proposer)},
        own_work_{own_work} {}

  /// Proposes `command`; `then` runs in a turn of the actor.
  void propose(const Object<schema::Command>& command, Then then) {
    propose_raw(command, [then = std::move(then)](const Result<raft::Applied>& applied) {
      then(to_committed(applied));
    });
  }

  /// As `propose`; a refused command's outcome is not reduced to its error.
  void propose_raw(const Object<schema::Command>& command, ThenRaw then) {
    proposer_.propose(raft::payload_of(command), turns_.callback(std::move(then)));
  }

  /// For an actor that began anew: calls `then`, in a later turn, when everything that it proposed
  /// before is in the state, or never will be. Until then it would decide on what is about to
  /// change.
  void when_settled(std::function<void()> then) {
    const auto nothing = make_command(
        [](schema::Command::Builder command) { command.initEvalUpdate().initEvaluations(0); });
    propose(nothing, [this, then = std::move(then)](const Result<Committed>& done) {
      if (done || done.error().code != Errc::overloaded) return then();
      actor::post_after(self_, ask_again_after, [this, then] { when_settled(then); });
    });
  }

private:
  static constexpr std::chrono::milliseconds ask_again_after{100};

  actor::Self* self_;
  Turns turns_;
  raft::Proposer proposer_;
  access::Allowed own_work_;
};

}  // namespace nomad::server
