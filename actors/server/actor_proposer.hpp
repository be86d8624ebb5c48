// ActorProposer: how an actor proposes commands and goes on when they are applied. The Raft node
// answers on its own thread; this brings the answer back as a message of the actor's own.
//
// What it proposes is the cluster's own work: whoever writes for a caller has a `Writer`.
//
// An actor keeps one `ActorProposer`, extends its interface with `void(WriteDone)` and hands each
// to `finish`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "actors/core/actor.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/server/committed.hpp"
#include "runtime/access/authorize.hpp"

namespace nomad::server {

/// The proposal `number` of this actor is applied or has failed.
struct WriteDone {
  using is_message = void;
  std::uint64_t number = 0;
  Result<raft::Applied> outcome = Error{};
};

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
  ActorProposer(raft::Proposer proposer, const access::Allowed& own_work)
      : proposer_{std::move(proposer)}, own_work_{own_work} {}

  /// Proposes `command`; `then` runs in the actor behind `self` when its WriteDone is finished.
  template <class Handle>
  void propose(const Handle& self, const Object<schema::Command>& command, Then then) {
    propose_raw(self, command, [then = std::move(then)](const Result<raft::Applied>& applied) {
      then(to_committed(applied));
    });
  }

  /// As `propose`; a refused command's outcome is not reduced to its error.
  template <class Handle>
  void propose_raw(const Handle& self, const Object<schema::Command>& command, ThenRaw then) {
    const auto number = next_number();
    waiting_.emplace(number, std::move(then));
    const auto weak = actor::weak(self);
    proposer_.propose(raft::payload_of(command), [weak, number](Result<raft::Applied> outcome) {
      if (auto strong = weak.lock()) actor::tell(strong, WriteDone{number, std::move(outcome)});
    });
  }

  /// For an actor that began anew: calls `then`, in a later turn, when everything that it proposed
  /// before is in the state, or never will be. Until then it would decide on what is about to
  /// change.
  template <class Interface>
  void when_settled(actor::TypedSelf<Interface>* self, std::function<void()> then) {
    const auto nothing = make_command(
        [](schema::Command::Builder command) { command.initEvalUpdate().initEvaluations(0); });
    propose(Interface{self}, nothing, [this, self, then = std::move(then)](Result<Committed> done) {
      if (done || done.error().code != Errc::overloaded) return then();
      const auto number = next_number();
      waiting_.emplace(
          number, [this, self, then](const Result<raft::Applied>&) { when_settled(self, then); });
      actor::send_self_after(self, ask_again_after, WriteDone{number});
    });
  }

  void finish(const WriteDone& done) {
    auto entry = waiting_.extract(done.number);
    if (!entry.empty()) entry.mapped()(done.outcome);
  }

  std::size_t waiting() const { return waiting_.size(); }

private:
  static constexpr std::chrono::milliseconds ask_again_after{100};

  /// Of the process: an actor that began anew must not take an answer to what it asked before.
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  raft::Proposer proposer_;
  access::Allowed own_work_;
  std::unordered_map<std::uint64_t, ThenRaw> waiting_;
};

}  // namespace nomad::server
