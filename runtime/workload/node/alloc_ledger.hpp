// AllocLedger: decides what happens to the allocations of one node: which of them the servers want,
// which have a runner, what is kept of them on disk and told to the servers, and what is removed
// when. What happened goes in as calls; what to do about it comes out of `take`. No I/O, no clock,
// no thread, no actor.
//
// (1) An allocation has one runner at most. It gets it when its rows are durable, if it is still
//     wanted then. One that cannot be saved is told to have failed and does not run.
// (2) While the runner of an allocation lives, its row is there, and as long as the row of an
//     allocation is there, so is that of the job that it runs. Rows are erased when nothing is left
//     that they could tell of, or when nobody can run the allocation any more: the next agent must
//     not try it again.
// (3) What the servers have forgotten stays in the ledger until all of it is gone. If they assign
//     it again meanwhile, they are asked for everything once it is (`take_wants_all`).
// (4) Unasked, only what has ended is collected, and nothing whose directory a successor wants.
// (5) The end of an allocation that has no runner is told by the ledger, under a version above any
//     runner's, and told again until it is acknowledged, whenever the servers had given the node
//     up.
// (6) Each ticket is answered once.
//
// clang-format off
//
//   (none) ─assign─▶ saving ─saved─▶ running                 it can run here
//      │                └─saved, with an error─▶ rest        it is told to have failed
//      ├──assign─▶ rest                                      it can't, or ended here before
//      └──begin─▶ running                                    the last agent ran it
//           └───▶ abandoned                                  it did, but this one can't
//
//   running ─status_changed, over─▶ over
//   running ─(collection), look─▶ destroying ─status_changed, over─▶ removing
//   over ─(collection), look─▶ removing
//   running, over, destroying, removing ─runner_crashed─▶ abandoned
//
//   destroying, removing, abandoned ─removed─▶ erasing ─rows_erased─▶ rest
//   saving, rest, and what comes to rest, once forgotten ─▶ (none)
//
// clang-format on
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/event_time.hpp"
#include "runtime/workload/gc_choice.hpp"
#include "runtime/workload/heartbeat_stop.hpp"
#include "runtime/workload/node/previous_allocs.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::workload {

/// An allocation of this node as the servers see it, and the version of its job that it runs.
struct AssignedAlloc {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// What servers changed for this node (schema/node_door.capnp, Allocs).
struct AssignedAllocs {
  std::uint64_t index = 0;
  bool complete = false;  ///< They want no others.
  std::vector<AssignedAlloc> allocs;
};

/// An allocation as the last agent left it.
struct RestoredAlloc {
  AssignedAlloc assigned;
  bool has_begun = false;  ///< There is a record of a task.
  std::optional<Acknowledged> acknowledged{};
};

struct LedgerTraits {
  std::string node_id;
  GcLimits gc;
  /// Whether this node can run an allocation at all; the error is what the servers are told.
  std::function<Result<>(AllocView, schema::Job::Reader)> fits;
};

/// The key under which a version of a job is kept, which an allocation refers to.
std::string job_key(AllocView alloc);
std::string job_key(schema::Job::Reader job);

namespace ledger_action {

using Round = std::uint64_t;

struct PutAlloc {
  Object<schema::Allocation> alloc;
};

struct PutJob {
  Object<schema::Job> job;
};

/// What an earlier deployment found of the allocation's health is no answer to the next one's.
struct ClearHealth {
  std::string alloc_id;
};

/// All that is kept of it but its job.
struct EraseAlloc {
  std::string alloc_id;
};

struct EraseJob {
  std::string job_key;
};

using RowChange = std::variant<PutAlloc, PutJob, ClearHealth, EraseAlloc, EraseJob>;
using RowChanges = std::vector<RowChange>;  ///< In this order.

/// Write these down, soon and in the order of these actions.
struct SaveLater {
  RowChanges rows;
};

/// Write these down now, together. Answer: `saved`.
struct Save {
  Round round;
  RowChanges rows;
};

/// Wait until everything is written down that was to be. Answer: `rows_erased`.
struct Flush {
  std::string alloc_id;
};

/// Make the allocation's runner.
struct Run {
  std::string alloc_id;
  bool restored;  ///< The last agent had it.
  bool may_run;   ///< It had no record of it, but may have run it and lost the record.
};

/// The runner may do something.
struct Begin {
  std::string alloc_id;
};

/// Tell the runner what the servers have changed; `reconnects`: they had taken it for unknown.
struct Assign {
  std::string alloc_id;
  bool reconnects;
};

struct TellContacted {
  std::string alloc_id;
};

/// The runner is to report, whatever the servers have acknowledged.
struct ReportAgain {
  std::string alloc_id;
};

/// The runner ends the tasks and removes what is left of them. Answer: `removed`, or none if it
/// crashes.
struct Destroy {
  std::string alloc_id;
};

/// The same where no runner can do it. Answer: `removed`.
struct RemoveAbandoned {
  std::string alloc_id;
};

/// Nothing of it runs any more: what it had reserved is free.
struct Release {
  std::string alloc_id;
};

/// Report an allocation without a runner. `again`: whatever the servers have acknowledged.
struct Report {
  std::string alloc_id;
  std::uint64_t version;
  AllocUpdate update;
  bool again;
};

/// What the servers had acknowledged before.
struct RestoreReports {
  std::string alloc_id;
  Acknowledged acknowledged;
};

struct ForgetReports {
  std::string alloc_id;
};

/// What was assigned is in force. `impatient`: an allocation came that may be without servers for a
/// shorter time than any before.
struct Applied {
  bool impatient;
};

/// Answer: `look`, after `delay`.
struct WaitToLook {
  Round round;
  Nanoseconds delay;
};

/// The allocation whose end was awaited has ended, or is not `here`.
struct AnswerEnd {
  std::uint64_t ticket;
  bool here;
};

struct AnswerCollection {
  std::uint64_t ticket;
  Result<> outcome;
};

/// A line for the agent's log.
struct Log {
  bool is_error;
  std::string alloc_id;
  std::string text;
  std::string error{};
};

}  // namespace ledger_action

using LedgerAction = std::variant<ledger_action::SaveLater,
                                  ledger_action::Save,
                                  ledger_action::Flush,
                                  ledger_action::Run,
                                  ledger_action::Begin,
                                  ledger_action::Assign,
                                  ledger_action::TellContacted,
                                  ledger_action::ReportAgain,
                                  ledger_action::Destroy,
                                  ledger_action::RemoveAbandoned,
                                  ledger_action::Release,
                                  ledger_action::Report,
                                  ledger_action::RestoreReports,
                                  ledger_action::ForgetReports,
                                  ledger_action::Applied,
                                  ledger_action::WaitToLook,
                                  ledger_action::AnswerEnd,
                                  ledger_action::AnswerCollection,
                                  ledger_action::Log>;

class AllocLedger {
public:
  using Round = ledger_action::Round;

  enum class Phase : std::uint8_t {
    saving,      ///< It runs when its rows are durable.
    running,     ///< It has a runner.
    over,        ///< Its runner has nothing more to end.
    destroying,  ///< Its runner ends it and removes what is left.
    removing,    ///< The same, and nothing of it runs any more.
    abandoned,   ///< It has no runner that could: it is ended and removed all the same.
    erasing,     ///< Nothing is left of it but rows.
    rest,        ///< Nothing is left of it, or there never was.
  };

  enum class Wanted : std::uint8_t {
    yes,
    no,     ///< The servers have forgotten it.
    again,  ///< They had, and have it after all.
  };

  struct Entry {
    Object<schema::Allocation> alloc;  ///< As the servers last had it.
    Object<schema::Job> job;
    Object<schema::Job> saved_job;         ///< Whose row is kept for it; empty: it has no rows.
    std::optional<AllocUpdate> rejection;  ///< Why it did not run here, or not on.
    /// AllocModifyIndex as the servers last had it, be it in force or not.
    std::uint64_t index = 0;
    ClientStatus status = ClientStatus::PENDING;
    Phase phase = Phase::rest;
    Wanted wanted = Wanted::yes;
    bool end_acknowledged = false;

    bool has_runner() const { return phase >= Phase::running && phase <= Phase::removing; }

    /// What is left of it is being removed.
    bool is_leaving() const { return phase >= Phase::destroying && phase <= Phase::erasing; }

    /// Nothing is left of it here but what the servers know.
    bool is_gone() const { return phase >= Phase::erasing; }
  };

  /// What to do since the last call, in this order. To be called after every event.
  std::vector<LedgerAction> take() { return std::exchange(actions_, {}); }

  /// Takes up what the last agent left. Once, before anything else.
  void begin(LedgerTraits traits, const std::vector<RestoredAlloc>& saved, EventTime now);

  // What the servers say.

  /// The next set comes after this one's `Applied`.
  void assign(const AssignedAllocs& set, EventTime now);
  /// Their first answer is in force.
  void contacted();
  /// They had given the node up: tells them of every allocation, so that they use it again.
  void report_all(EventTime now);
  void end_acknowledged(const std::vector<std::string>& alloc_ids);

  /// They have answered a heartbeat or a registration.
  void heard_of_servers(EventTime now) { heartbeat_stop_.heard(now.steady); }

  // What runners say.

  void status_changed(const std::string& alloc_id, ClientStatus status, bool over);
  void runner_crashed(const std::string& alloc_id, const std::string& why, EventTime now);
  /// `for_whom` waits to take over its directory; empty: nobody wants it.
  void await_end(const std::string& alloc_id, const std::string& for_whom, std::uint64_t ticket);

  // Collection.

  void set_limits(const GcLimits& limits) { gc_.set_limits(limits); }

  void disk_looked(double used_percent, double inodes_used_percent);
  /// Of one that has ended; without an id, of all.
  void collect(const std::string& alloc_id, std::uint64_t ticket);

  // Answers to actions.

  void saved(Round round, const Result<>& outcome, EventTime now);
  void removed(const std::string& alloc_id);
  void rows_erased(const std::string& alloc_id);
  void look(Round round, EventTime now);

  // What is known.

  const Entry* find(const std::string& alloc_id) const;

  const std::unordered_map<std::string, Entry>& entries() const { return entries_; }

  /// Whether the next question has to be for all allocations; asked once.
  bool take_wants_all() { return std::exchange(wants_all_, false); }

  bool was_contacted() const { return contacted_; }

  /// How long the least patient allocation may be without servers.
  std::optional<Nanoseconds> shortest_patience() const { return heartbeat_stop_.shortest(); }

  bool has_to_collect() const { return gc_.marked() > 0; }

private:
  using RowChanges = ledger_action::RowChanges;

  struct Collection {
    std::string alloc_id;  ///< Empty: all that were marked.
    std::uint64_t ticket = 0;
  };

  void restore(const RestoredAlloc& saved, EventTime now);
  bool note_new(const AssignedAlloc& assigned, RowChanges& rows, EventTime now);
  void note_newer(Entry& entry, const AssignedAlloc& assigned, RowChanges& rows);
  void apply(const AssignedAlloc& assigned, const Result<>& saved, EventTime now);
  void run_new(const std::string& alloc_id, Entry& entry, const Result<>& saved, EventTime now);
  void update(Entry& entry, const AssignedAlloc& assigned, EventTime now);
  void save_again(const std::vector<AssignedAlloc>& allocs);
  void forget(const std::string& alloc_id);
  void leave(const std::string& alloc_id);
  void reject(Entry& entry, std::string_view reason, EventTime now);
  void abandon(const std::string& alloc_id, std::string_view reason, EventTime now);
  void tell_end(const Entry& entry, bool again, EventTime now);
  void hold_job(Entry& entry, const Object<schema::Job>& job, RowChanges& rows);
  void release_job(Entry& entry, RowChanges& rows);
  void erase_rows(Entry& entry);
  void watch_patience(const std::string& alloc_id, const Entry& entry, EventTime now);
  void wait_to_look(EventTime now);
  void tell_over(const std::string& alloc_id);
  void stop_keeping(const std::string& for_whom);
  void collect();
  void destroy(const std::string& alloc_id, Entry& entry);
  void answer_collections(const std::string& alloc_id);
  void go(Entry& entry, Phase phase);

  void act(LedgerAction action) { actions_.push_back(std::move(action)); }

  LedgerTraits traits_;
  std::vector<LedgerAction> actions_;
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<std::string, std::size_t> jobs_;  ///< Allocations with a row, by job key.
  Round round_ = 0;
  std::optional<std::vector<AssignedAlloc>>
      applying_;  ///< New, or newer; their rows are being saved.
  bool wants_all_ = false;
  bool contacted_ = false;
  bool impatient_ = false;  ///< Of the present set.
  /// Of the reports on allocations without a runner: nothing that a runner told comes after them.
  std::uint64_t version_ = std::uint64_t{1} << 62;

  HeartbeatStop heartbeat_stop_;
  Round look_round_ = 0;

  GcQueue gc_{{}};
  GcUsage usage_;
  std::vector<Collection> collections_;
  PreviousAllocs previous_;
};

}  // namespace nomad::workload
