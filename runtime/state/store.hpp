// Store: the replicated state of the servers, changed only by applying committed commands.
//
// One thread writes: `apply` for each command of a batch, then `publish` once, which makes the
// batch visible to new snapshots, then wakes watches and appends events. Any thread may take
// snapshots, watch and read events at any time. Applying is total and deterministic: it reads no
// clock and draws no random number, and what a command asks for that cannot be (a lost
// check-and-set, an unknown id) is an Outcome with an error and without a change.
//
// A Store made from a Snapshot is private to its maker and costs as little as a snapshot: for plans
// that are verified before an earlier one is committed, and for `job plan`.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/resident.hpp"
#include "runtime/base/result.hpp"
#include "runtime/state/event.hpp"
#include "runtime/state/event_buffer.hpp"
#include "runtime/state/packed_events.hpp"
#include "runtime/state/snapshot.hpp"
#include "runtime/state/watch.hpp"
#include "schema/command.capnp.h"

namespace nomad::state {

/// What a command came to, and what the leader's actors must know of it.
struct Outcome {
  /// Why nothing was changed. (Of a plan result: `plans` says it for each plan.)
  std::optional<Error> error;
  /// Nothing was changed because what the command was decided on (schema::Guarded) is not as it
  /// was.
  bool stale = false;

  Index index = 0;             ///< The command's.
  Index job_modify_index = 0;  ///< Of a registered job.
  std::vector<std::optional<Error>> plans;
  /// Of a variable's command: what was written, or, with the error `conflict`, what is stored (of
  /// nothing but namespace and path when nothing is). Empty after a deletion.
  Object<schema::Variable> variable;

  /// Evaluations as they are now stored: pending ones are to be enqueued, blocked ones to be
  /// tracked, complete ones without failures end what blocks for their job.
  std::vector<Object<schema::Evaluation>> evals;
  /// How many an operator's deletion has removed.
  std::uint64_t evals_deleted = 0;
  /// Nodes that may take more than before: registered, ready or eligible again.
  std::vector<Object<schema::Node>> nodes_opened;
  /// Nodes on which allocations ended.
  std::vector<std::string> nodes_freed;
  /// Quotas that may have more room: allocations ended, or limits or namespaces are others now.
  std::vector<std::string> quotas_opened;
  /// Settings that the leader's duties go by are others now.
  bool settings_changed = false;
  /// The whole state was replaced: whoever derives from it begins anew.
  bool replaced = false;
  /// Namespaces in which a volume may be claimed that could not be before: it was registered, or a
  /// claim of it has ended; "" is each of them, when a controller of some plugin is there.
  std::vector<std::string> volumes_opened;
  /// A volume was registered, removed, claimed or given back.
  bool volumes_changed = false;
  /// The variable, by its key, whose lock was taken, taken again, or lifted; "": none.
  std::string locking;
  /// Jobs that were stopped or removed: (namespace, id).
  std::vector<std::pair<std::string, std::string>> jobs_stopped;

  /// Whether the duties of a leader have to know.
  bool concerns_leader() const {
    return replaced || settings_changed || !evals.empty() || !nodes_opened.empty()
           || !nodes_freed.empty() || !quotas_opened.empty() || !volumes_opened.empty()
           || volumes_changed || !locking.empty() || !jobs_stopped.empty()
           || (variable && variable->hasLock());
  }
};

/// Whether this version knows the command. A server that does not must stop before it applies
/// entries, or it would part from the others.
Result<> check_command(schema::Command::Reader command);

/// How many kinds of commands this version knows. They are numbered without gaps, from 0.
std::uint32_t known_commands();

/// The number of a command's kind. What a guarded one wraps counts if that is a later one, and of
/// restored rows the commands that first wrote their tables. One with a part that was added later,
/// and that a server must not pass over, counts as a kind of that release: identities' keys in
/// plans, prepublished root keys, ids of locks, policies of admission with a head; and rows of the
/// latter three that are restored or copied from another region.
std::uint32_t kind_of(schema::Command::Reader command);

struct CommandParts {
  std::uint32_t number = 0;  ///< The command's, whatever it holds; of a guarded one as above.
  std::uint32_t later = 0;   ///< Parts that were added later, a bit each; rows are not looked into.
};

/// The same told apart: what was applied proves this of the members, and no more.
CommandParts parts_of(schema::Command::Reader command);

/// A command without those parts, where the change makes sense without them: plans, whose
/// allocations are then signed for by the active key, as those of earlier releases are. Empty: it
/// has none, or is not to be had without.
Object<schema::Command> without_new_parts(schema::Command::Reader command);

class Store {
public:
  struct Options {
    std::size_t event_batches = 100;  ///< Kept for readers of the event stream.
  };

  /// The state of a new cluster: the namespace "default", the node pools "all" and "default".
  Store();
  explicit Store(Options options);

  /// A private continuation of `base`, without events.
  explicit Store(const Snapshot& base);
  ~Store();

  // -- one thread ------------------------------------------------------------------------------

  /// Applies the command of entry `index`, which is greater than all before.
  Outcome apply(Index index, schema::Command::Reader command);

  /// Says that entries up to `index` are applied, also those that carry no command.
  void set_applied(Index index);

  /// Makes everything applied so far visible. What was visible before is not freed here.
  void publish();

  /// Frees what the last publication has replaced, which takes about as long as the change did. To
  /// be called when nobody waits for it; the next publication does it otherwise.
  void free_replaced() { replaced_tables_.reset(); }

  /// What indexes of the state are ahead of the log's.
  Index index_offset() const;

  /// Replaces the whole state by one that contains log entries up to `applied`, publishes it and
  /// wakes everyone.
  void replace(Tables restored, Index applied);

  // -- any thread ------------------------------------------------------------------------------

  Snapshot snapshot() const;

  /// What says whether rights that were looked up still count, without a snapshot: every request
  /// asks. A snapshot that is taken after an index was read is as new as that.
  struct RightsIndexes {
    Index rights = 0;  ///< Of the last change of what a token gave somebody.
    Index tokens = 0;  ///< Of the last change of any token.
  };

  RightsIndexes rights_indexes() const {
    return {rights_index_.load(std::memory_order_acquire),
            tokens_index_.load(std::memory_order_acquire)};
  }

  Watches& watches() { return watches_; }

  using Events = EventBuffer<Event, PackedEvents>;

  Events& events() { return events_; }

private:
  void note_rights(const Tables& tables);

  std::unique_ptr<Tables> working_;
  std::vector<Change> changes_;
  std::vector<std::pair<Index, std::vector<Event>>> pending_events_;
  bool keep_events_ = true;
  bool replaced_ = false;                          ///< Since the last publication.
  std::shared_ptr<const Tables> replaced_tables_;  ///< By the last publication.

  mutable std::mutex mutex_;  ///< Of `published_` alone.
  std::shared_ptr<const Tables> published_;
  std::atomic<Index> rights_index_{0};  ///< Of `published_`, or of one before.
  std::atomic<Index> tokens_index_{0};  ///< The same.
  Watches watches_;
  Events events_;
  std::optional<ReleasableMemory> spare_events_;  ///< Those events, of a store that keeps them.
};

/// For `subscribe`.
WatchKey watch_key(Table table, std::string_view key);
WatchKey watch_prefix(Table table, std::string_view prefix);

}  // namespace nomad::state
