// Writer: the one way in which this server changes the cluster's state for somebody who asks. It
// decides on the newest snapshot (runtime/cluster), proposes the command, and says what came of it.
// The command carries what the decision has read (runtime/state/reads). If some of that is another
// where it is applied, nothing is changed, and the decision is made anew: those that are, one after
// the other, so that of many writes of one thing each has its turn.
// Nothing is proposed without the `Allowed` that it stands on; one that was given for another
// object than the command's is a bug, and `internal`.
//
// A server that does not lead, or does not know yet all that was ever acknowledged, refuses with
// `no_leader`: nothing was done, of a sequence neither. Other errors are the decision's, the
// proposer's (actors/raft/proposer.hpp) and those of the command's conditions.
//
// Threads: any. `then` is called once, in a turn of those that come with it: a request's
// (`Call::turns`), as a rule. `Turns::here` is before the call returns when nothing was proposed,
// else on the Raft node's thread, and must be quick; so are decisions that are made anew, unless it
// is said where. Actors have `ActorProposer`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "actors/raft/raft_inbox.hpp"
#include "actors/server/committed.hpp"
#include "runtime/access/authorize.hpp"
#include "runtime/base/turns.hpp"
#include "runtime/cluster/eval_factory.hpp"
#include "runtime/state/reads/read_set.hpp"

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

/// Writes that are decided anew: one has its turn, the others wait for theirs. Thread-safe.
class DecidedAnew : public std::enable_shared_from_this<DecidedAnew> {
public:
  /// Held by the write whose turn it is: the next one's comes when it is let go.
  using Turn = std::shared_ptr<void>;

  /// Calls `go(turn)` when it is its turn, perhaps at once.
  void enter(std::function<void(Turn)> go);

private:
  void leave();
  std::function<void(Turn)> take();
  Turn turn();

  std::mutex mutex_;
  bool is_busy_ = false;
  bool is_passing_on_ = false;  ///< Some `leave` hands turns out, and looks again after each.
  std::deque<std::function<void(Turn)>> waiting_;
};

/// Cheap to copy, may outlive the Raft node.
class Writer {
public:
  /// Runs a job somewhere, at once or later, or says why it does not.
  using Run = std::function<Result<>(std::function<void()>)>;

  /// How often a write is decided before it is given up.
  static constexpr unsigned most_decisions = 32;

  /// `chance` is for a world of one thread that is to be the same each time; each thread has its
  /// own without.
  Writer(std::shared_ptr<const state::Store> store,
         raft::Proposer proposer,
         std::shared_ptr<const raft::LeaderView> leader,
         std::shared_ptr<Random> chance = {});

  /// `decide(snapshot, seed)` returns the Result of a decision, which has the permission `allowed`
  /// and a `command`, empty if there is nothing to write; `then` gets a Result of
  /// `Written<decision>`. `decide` may be called again, by `run` if there is one: it holds what it
  /// needs by value. What `run` refuses to do is the answer; nothing was written.
  template <class Decide, class Then>
  void write(Decide decide, const Turns& turns, Then then, Run run = {}) const;

  /// The same for a decision whose refused command matters, too: `then` gets a Result of
  /// raft::Applied. There must be a command.
  template <class Decide>
  void write_raw(Decide decide,
                 const Turns& turns,
                 std::function<void(const Result<raft::Applied>&)> then,
                 Run run = {}) const;

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
  /// How a write has ended.
  struct End {
    std::uint64_t index = 0;                       ///< Of the snapshot.
    std::optional<Result<raft::Applied>> applied;  ///< Empty if there was nothing to write.
  };

  /// A write under way, whatever it decides.
  class Attempts {
  public:
    explicit Attempts(Run where) : run(std::move(where)) {}

    Attempts(const Attempts&) = delete;
    Attempts& operator=(const Attempts&) = delete;
    virtual ~Attempts() = default;

    /// The command of the decision, which is kept; empty if there is nothing to write.
    virtual Result<Object<schema::Command>> decide(const state::Snapshot& snapshot,
                                                   const cluster::EvalSeed& seed)
        = 0;
    /// What the decision stands on.
    virtual const access::Allowed& allowed() const = 0;
    virtual void end(Result<End> end) = 0;

    const Run run;
    unsigned made = 0;
    DecidedAnew::Turn turn = {};
  };

  /// `then(decision, end)` gets the decision that `end` is of, unless that is an error.
  template <class Decide, class Then>
  class AttemptsOf final : public Attempts {
  public:
    AttemptsOf(Decide decide, Then then, Run where)
        : Attempts(std::move(where)), decide_(std::move(decide)), then_(std::move(then)) {}

    Result<Object<schema::Command>> decide(const state::Snapshot& snapshot,
                                           const cluster::EvalSeed& seed) override {
      decision_.emplace(NOMAD_TRY(decide_(snapshot, seed)));
      return std::exchange(decision_->command, {});
    }

    const access::Allowed& allowed() const override { return decision_->allowed; }

    void end(Result<End> end) override { then_(std::move(decision_), std::move(end)); }

  private:
    Decide decide_;
    Then then_;
    std::optional<DecidedBy<Decide>> decision_;
  };

  void attempt(const std::shared_ptr<Attempts>& write) const;
  void attempt_anew(const std::shared_ptr<Attempts>& write) const;

  template <class Decide, class Then>
  void begin(Decide decide, Then then, Run run) const {
    attempt(std::make_shared<AttemptsOf<Decide, Then>>(std::move(decide), std::move(then),
                                                       std::move(run)));
  }

  /// Of a write that had nothing to write, the snapshot's index.
  static Result<Committed> committed(const Result<End>& end);

  /// Whether a command was refused because of what it was decided on.
  static bool is_stale(const Result<raft::Applied>& applied);
  static Error given_up();

  Result<> check_allowed(const access::Allowed& allowed, schema::Command::Reader command) const;

  cluster::EvalSeed seed() const;

  Result<> check_ready() const;

  std::shared_ptr<const state::Store> store_;
  raft::Proposer proposer_;
  std::shared_ptr<const raft::LeaderView> leader_;
  std::shared_ptr<Random> chance_;
  std::shared_ptr<DecidedAnew> anew_ = std::make_shared<DecidedAnew>();
};

template <class Decide, class Then>
void Writer::write(Decide decide, const Turns& turns, Then in_turn, Run run) const {
  using Decision = DecidedBy<Decide>;
  auto answer = [then = turns.callback(std::move(in_turn))](std::optional<Decision> decision,
                                                            const Result<End>& end) {
    const auto done = committed(end);
    if (!done) return then(Result<Written<Decision>>{done.error()});
    then(Result<Written<Decision>>{
        Written<Decision>{std::move(*decision), done->index, done->outcome}});
  };
  begin(std::move(decide), std::move(answer), std::move(run));
}

template <class Decide>
void Writer::write_raw(Decide decide,
                       const Turns& turns,
                       std::function<void(const Result<raft::Applied>&)> in_turn,
                       Run run) const {
  auto answer = [then = turns.callback(std::move(in_turn))](const std::optional<DecidedBy<Decide>>&,
                                                            Result<End> end) {
    then(end ? *std::move(end->applied) : Result<raft::Applied>{end.error()});
  };
  begin(std::move(decide), std::move(answer), std::move(run));
}

}  // namespace nomad::server
