// Fsm: the state machine that Raft drives, as an interface; the state store implements it. Also
// what a snapshot is made of: tables of rows, so that storage need not know what they mean.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/raft/entry.hpp"

namespace nomad::raft {

/// What applying one command came to. The same on every replica: an entry that cannot be applied
/// is a recorded error, never an exception.
struct Outcome {
  std::optional<Error> error;         ///< Unset: applied.
  Index index = 0;                    ///< What the Fsm calls this entry, or 0: as the log does.
  std::shared_ptr<const void> value;  ///< Whatever the Fsm wants to hand to the proposer.
};

/// Takes the rows of a snapshot. Rows of a table come in key order, without duplicates.
class SnapshotSink {
public:
  virtual ~SnapshotSink() = default;

  /// Starts the table that the following rows belong to. Each name once; letters, digits and `_`.
  virtual Result<> begin_table(std::string_view name) = 0;

  virtual Result<> row(std::string_view key, std::span<const std::byte> value) = 0;
};

/// A frozen state that can write itself. Used on the snapshotter's thread while the Fsm goes on.
class SnapshotSource {
public:
  virtual ~SnapshotSource() = default;
  virtual Result<> write(SnapshotSink& sink) const = 0;
};

/// The rows of a snapshot being restored. Each value's checksum has been verified; its content is
/// still unchecked.
class SnapshotRows {
public:
  virtual ~SnapshotRows() = default;

  virtual Result<std::vector<std::string>> tables() = 0;

  /// Calls `row` for each row of `table` in key order, until it fails. The spans are valid during
  /// the call only; values start at an 8-byte boundary.
  using Row = std::function<Result<>(std::string_view key, std::span<const std::byte> value)>;
  virtual Result<> read(std::string_view table, const Row& row) = 0;
};

/// A whole state that was put together from a snapshot, and is not in force yet.
class PreparedState {
public:
  virtual ~PreparedState() = default;
};

/// One writer: all calls come from the Raft node, in log order and one at a time, but for `prepare`
/// and what is asked about commands. What takes long it makes on another thread.
class Fsm {
public:
  virtual ~Fsm() = default;

  /// Whether `payload` is a well-formed command. Called for bytes that this process did not make
  /// itself (read from disk or received from a peer) before they may reach `apply`.
  virtual Result<> check(std::span<const std::byte> payload) const = 0;

  /// Kinds of commands are numbered in the order in which releases learned them: how many of them
  /// this build can apply.
  virtual std::uint32_t known_commands() const { return 0; }

  /// Of these, how many every release can that may be among the servers and does not say.
  virtual std::uint32_t common_commands() const { return 0; }

  /// The number of the kind of a well-formed command, from 0.
  virtual std::uint32_t kind_of(std::span<const std::byte> payload) const {
    static_cast<void>(payload);
    return 0;
  }

  struct CommandParts {
    std::uint32_t number = 0;  ///< The kind that it has without later parts.
    std::uint32_t later = 0;   ///< Parts that were added later, a bit each.
  };

  /// What a member knows for certain that has applied such a well-formed command: kinds up to the
  /// number, and these parts. Releases had parts before they were counted as a kind, so that a part
  /// proves nothing of that.
  virtual CommandParts parts_of(std::span<const std::byte> payload) const {
    return {kind_of(payload), 0};
  }

  /// What a well-formed command is to members that do not know its kind; empty: nothing.
  virtual std::optional<Bytes> earlier_form(std::span<const std::byte> payload) const {
    static_cast<void>(payload);
    return {};
  }

  /// Applies committed commands in order and publishes the new state once, before it returns.
  /// `entries` holds commands only and may be empty; `applied` is the index the state stands for
  /// afterwards. One outcome per entry, in order. Must not throw.
  virtual std::vector<Outcome> apply(std::span<const Entry> entries, Index applied) = 0;

  /// Whether to apply these commands would hold up heartbeats. From any thread.
  virtual bool takes_long(std::span<const Entry> commands) const {
    static_cast<void>(commands);
    return false;
  }

  /// Everybody who waited for what was applied last has been told: now is the time for what can
  /// wait until then.
  virtual void answered() {}

  /// The state as it is now, in O(1).
  virtual std::unique_ptr<SnapshotSource> snapshot() const = 0;

  /// Puts the state of a snapshot together. What may be wrong with the rows is found here; the
  /// error names table and row. From any thread, while the others are called.
  virtual Result<std::shared_ptr<PreparedState>> prepare(SnapshotRows& rows) const = 0;

  /// Replaces the whole state by one that `prepare` has made of a snapshot taken at `applied`, and
  /// publishes it. `prepared` is then spent.
  virtual void install(PreparedState& prepared, Index applied) = 0;

  /// Both, on the thread of the Raft node. On failure the state is as before.
  Result<> restore(SnapshotRows& rows, Index applied) {
    const auto prepared = NOMAD_TRY(prepare(rows));
    install(*prepared, applied);
    return {};
  }
};

}  // namespace nomad::raft
