// Writer: the one way in which this server changes the cluster's state for somebody who asks. It
// decides on the newest snapshot (runtime/cluster), proposes the command, and says what came of it.
// What a decision could not know, the log judges when it applies: a command's own conditions.
// Nothing is proposed without the `Allowed` that it stands on; one that was given for another
// object than the command's is a bug, and `internal`.
//
// A server that does not lead, or does not know yet all that was ever acknowledged, refuses with
// `no_leader`: nothing was done, of a sequence neither. Other errors are the decision's, the
// proposer's (actors/raft/proposer.hpp) and those of the command's conditions.
//
// Threads: any. `then` is called once, in a turn of those that come with it: a request's
// (`Call::turns`), as a rule. `Turns::here` is before the call returns when nothing was proposed,
// else on the Raft node's thread, and must be quick. Actors have `ActorProposer`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "actors/raft/raft_inbox.hpp"
#include "actors/server/committed.hpp"
#include "runtime/access/authorize.hpp"
#include "runtime/base/turns.hpp"
#include "runtime/cluster/eval_factory.hpp"

namespace nomad::server {

/// What `decide(snapshot, seed)` decides.
template <class Decide>
using DecidedBy = std::remove_cvref_t<decltype(*std::declval<Decide&>()(
    std::declval<const state::Snapshot&>(), std::declval<const cluster::EvalSeed&>()))>;

/// What somebody was allowed to decide.
template <class T>
concept AllowedDecision = std::is_same_v<decltype(T::allowed), access::Allowed>;

/// A decision and the entry that it became.
template <AllowedDecision Decision>
struct Written {
  Decision decision;        ///< Without its command.
  std::uint64_t index = 0;  ///< Of the entry; of the snapshot if there was nothing to write.
  std::shared_ptr<const state::Outcome> outcome = {};  ///< Empty if there was nothing to write.
};

/// The ModifyIndex of the job that a decision is about, as it is now.
template <class Decision>
std::uint64_t job_modify_index(const Written<Decision>& done) {
  const bool is_new = done.outcome && done.outcome->job_modify_index != 0;
  return is_new ? done.outcome->job_modify_index : done.decision.job_modify_index;
}

/// Cheap to copy, may outlive the Raft node.
class Writer {
public:
  /// `chance` is for a world of one thread that is to be the same each time; each thread has its
  /// own without.
  Writer(std::shared_ptr<const state::Store> store,
         raft::Proposer proposer,
         std::shared_ptr<const raft::LeaderView> leader,
         std::shared_ptr<Random> chance = {});

  /// `decide(snapshot, seed)` returns the Result of a decision, which has the permission `allowed`
  /// and a `command`, empty if there is nothing to write; `then` gets a Result of
  /// `Written<decision>`.
  template <class Decide, class Then>
  void write(Decide&& decide, const Turns& turns, Then then) const;

  /// Proposes a command that somebody has decided on.
  void propose(const access::Allowed& allowed,
               const Object<schema::Command>& command,
               const Turns& turns,
               std::function<void(const Result<Committed>&)> then) const;

  /// The same, when what became of a refused command matters, too.
  void propose_raw(const access::Allowed& allowed,
                   const Object<schema::Command>& command,
                   const Turns& turns,
                   std::function<void(const Result<raft::Applied>&)> then) const;

  /// Proposes commands in order, a few at a time, so that many do not fill the log's queue; the
  /// last one when all others are applied. Stops at the first that is refused. There must be one.
  /// `each` hears of every one that is applied, in their order and before `then`, on the Raft
  /// node's thread.
  void propose_all(const access::Allowed& allowed,
                   std::vector<Object<schema::Command>> commands,
                   const Turns& turns,
                   std::function<void(const Result<Committed>&)> then,
                   std::function<void(const Committed&)> each = {}) const;

private:
  cluster::EvalSeed seed() const;

  Result<> check_ready() const;

  std::shared_ptr<const state::Store> store_;
  raft::Proposer proposer_;
  std::shared_ptr<const raft::LeaderView> leader_;
  std::shared_ptr<Random> chance_;
};

template <class Decide, class Then>
void Writer::write(Decide&& decide, const Turns& turns, Then in_turn) const {
  const auto then = turns.callback(std::move(in_turn));
  using Decided = DecidedBy<Decide>;
  if (const auto ready = check_ready(); !ready)
    return then(Result<Written<Decided>>{ready.error()});
  const auto snapshot = store_->snapshot();
  auto decided = decide(snapshot, seed());
  if (!decided) return then(Result<Written<Decided>>{decided.error()});
  const auto command = std::exchange(decided->command, {});
  Written<Decided> written{std::move(*decided), snapshot.index(), {}};
  if (!command) return then(Result<Written<Decided>>{std::move(written)});
  const auto allowed = written.decision.allowed;
  propose_raw(allowed, command, Turns::here(),
              [written = std::move(written), then](const Result<raft::Applied>& applied) mutable {
                auto committed = to_committed(applied);
                if (!committed) return then(Result<Written<Decided>>{committed.error()});
                written.index = committed->index;
                written.outcome = std::move(committed->outcome);
                then(Result<Written<Decided>>{std::move(written)});
              });
}

}  // namespace nomad::server
