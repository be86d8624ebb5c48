// PendingProposals: what a node was asked to write: what of it may enter the log, when it does, and
// who is answered when it is applied, or lost. Part of the RaftNode; works in its turns.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "actors/raft/node_parts.hpp"
#include "runtime/raft/write_gathering.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::raft {

class PendingProposals {
public:
  /// `parts` outlives it.
  explicit PendingProposals(const NodeParts& parts) : parts_{parts} {}

  PendingProposals(const PendingProposals&) = delete;
  PendingProposals& operator=(const PendingProposals&) = delete;

  /// These are the members from here on. Of who was none before nothing is known.
  void note_members(const Configuration& configuration);

  /// What is about to enter the log together.
  struct Entering {
    std::size_t count = 0;
    std::size_t bytes = 0;
  };

  /// Whether `command` may enter the log, behind `more` that will: `too_large`, or `overloaded`.
  /// All members must be able to apply it, for the log of one that can't would end here: `rejected`
  /// names it, `unavailable` one that has not said yet what it can. Where the state machine has a
  /// form of the command that all of them can apply, it becomes that. A command that has an earlier
  /// form is as large as that.
  Result<> check(Bytes& command, const Entering& more, const Core& core) const;

  /// `callback` is answered when the entry of so many bytes is applied, or lost with the
  /// leadership.
  void await(Index index, std::size_t bytes, ProposalCallback callback);

  /// Whether what has come in should wait for more of it.
  bool holds_back(std::size_t voters) { return gathering_.holds_back(voters); }

  /// What was held back should wait no longer.
  bool is_due() const { return gathering_.is_due(); }

  /// Every entry of a portion is applied, with these outcomes of its commands.
  void answer(const std::vector<Entry>& entries, std::vector<Outcome> outcomes);

  /// Nothing that waits will be applied, as far as this server can tell.
  void fail(const Error& reason);

private:
  struct Waiting {
    Index index;
    Time since;
    std::size_t bytes;
    ProposalCallback callback;
  };

  void measure(Time took);
  void note(const Entry& applied);
  Result<> check_size(const Bytes& command) const;
  bool is_proven(const ServerId& member, const Bytes& command) const;
  Result<> check_known(const Bytes& command, const Core& core) const;

  const NodeParts& parts_;

  /// What a member can apply for certain, whatever it has said: it was applied while it was a
  /// member, so that it was in the member's log, too.
  struct Proven {
    std::uint32_t kinds = 0;  ///< So many of them.
    std::uint32_t parts = 0;  ///< And these, of whatever kind they count as (`Fsm::parts_of`).
  };

  std::map<ServerId, Proven> proven_;
  std::deque<Waiting> waiting_;               ///< Grows by `await` alone.
  std::size_t waiting_bytes_ = 0;             ///< Of them: what a disk that stands holds up.
  telemetry::Sample* commit_time_ = nullptr;  ///< Null before the first commit.
  WriteGathering gathering_;                  ///< Its rounds last as long as somebody waits.
};

}  // namespace nomad::raft
