// NodeAllocs: the allocations of this node and their runners: taken up after a restart, added and
// changed as the servers say, forgotten, collected, and ended when they have been without servers
// for longer than they may. Part of the client actor; works in its turns.
//
// Nothing of an allocation becomes visible before it is in the local state.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/client/client_facts.hpp"
#include "actors/client/node/awaited_ends.hpp"
#include "actors/client/node/node_cpus.hpp"
#include "actors/client/node/orphans.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/workload/alloc_diff.hpp"
#include "runtime/workload/gc_choice.hpp"
#include "runtime/workload/heartbeat_stop.hpp"

namespace nomad::client {

/// An allocation of this node as the servers see it, and the version of its job that it runs.
struct AssignedAlloc {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// What servers changed for this node (schema/node_door.capnp, Allocs).
struct AssignedAllocs {
  std::uint64_t index = 0;
  bool complete = false;
  std::vector<AssignedAlloc> allocs;
};

class NodeAllocs {
public:
  /// All outlive it.
  NodeAllocs(ClientSelf::pointer self, const ClientFacts& facts, NodeCpus& cpus)
      : self_{self}, facts_{facts}, cpus_{cpus}, orphans_{self, facts} {}

  NodeAllocs(const NodeAllocs&) = delete;
  NodeAllocs& operator=(const NodeAllocs&) = delete;

  /// Runs again what the last agent left. Once; options and context are there.
  void take_up(client_db::Loaded loaded);

  bool empty() const { return allocs_.empty(); }

  std::size_t size() const { return allocs_.size(); }

  /// `contacted` is left to the caller.
  client_api::AllocCounts counts() const;

  /// An allocation that has not ended.
  struct Live {
    const Object<schema::Allocation>& alloc;
    const Object<schema::Job>& job;
    const AllocRunner& runner;  ///< Empty: it has none.
  };

  void each_live(const std::function<void(const Live&)>& take) const;

  // -- what the servers say.

  /// Puts into force what they have assigned; then calls `then`, in this turn or a later one,
  /// unless the client stops. `impatient`: an allocation came that may be without servers for a
  /// shorter time than any before.
  void apply(AssignedAllocs set, std::function<void(bool impatient)> then);

  /// They have answered for the first time: restored tasks that were lost may start again.
  void servers_contacted();

  /// Whether the next question has to be for all allocations; asked once.
  bool take_wants_all() { return std::exchange(wants_all_, false); }

  /// Tells them of every allocation, so that they use the node again. Those that could not run
  /// here, or that the servers took for lost before they did, have no runner to tell it.
  void report_all();

  // -- without servers.

  /// They have answered a heartbeat or a registration.
  void heard_of_servers() { heartbeat_stop_.heard(now()); }

  /// How long the least patient allocation may be without them.
  std::optional<Nanoseconds> shortest_patience() const { return heartbeat_stop_.shortest(); }

  void stop_look(std::uint64_t round);

  // -- collection.
  void collect();

  /// Of collection, from now on.
  void set_limits(const workload::GcLimits& limits) { gc_.set_limits(limits); }

  /// Collects when the disk is too full.
  void look_at_disk();

  /// Takes networks down that are of no allocation here. Nothing before the servers have said which
  /// these are.
  void leave_orphaned_networks();

  actor::Answer<client_api::Done> collect_garbage(const client_api::CollectGarbage& msg);

  /// The servers know that these have ended.
  void end_acknowledged(const std::vector<std::string>& alloc_ids);

  // -- runners.

  void status_changed(const alloc_runner::Status& msg);

  /// Who waits for the end of another allocation of this node hears of it.
  actor::Answer<alloc_runner::Ended> await_end(const alloc_runner::AwaitEnd& msg);

  /// False: it was no runner.
  bool child_down(const actor::Down& down);

  void driver_replaced(const alloc_runner::DriverReplaced& msg);

  /// Ends all runners; their tasks go on, unless `with_tasks`. `then` is called when they have.
  void stop(bool with_tasks, std::function<void()> then);

  /// Hands a request about one allocation to its runner, if the caller may ask it.
  template <class Reply, class Message>
  actor::Answer<Reply> pass_on(Message& msg) {
    NOMAD_TRY(check_caller(msg.alloc_id, msg.asking));
    const auto found = allocs_.find(msg.alloc_id);
    if (!found->second.runner) return unknown(msg.alloc_id);
    return self_->delegate(found->second.runner, std::move(msg));
  }

  actor::Answer<client_api::ExecStarted> exec(client_api::Exec& msg);
  actor::Answer<client_api::AllocDir> disk_of(const client_api::DiskOf& msg);

  /// Who runs them knows how they stand, so also of an allocation that has ended.
  actor::Answer<client_api::CheckReports> checks(const client_api::AllocChecks& msg);

private:
  struct Alloc {
    Object<schema::Allocation> alloc;  ///< As the servers last had it.
    Object<schema::Job> job;
    Object<schema::Job> saved_job;  ///< Whose row is kept for it; empty: it has no rows.
    /// AllocModifyIndex as the servers last had it, be it in force or not.
    std::uint64_t index = 0;
    AllocRunner runner;  ///< Empty: it cannot run here, or has ended.
    schema::ClientStatus status = schema::ClientStatus::PENDING;
    std::optional<workload::AllocUpdate> rejection;  ///< Why it did not run here, or not on.
    bool removed = false;                            ///< The servers have forgotten it.
    bool restored = false;
    bool end_acknowledged = false;
    bool destroying = false;     ///< What is left of it is being removed.
    bool wanted_again = false;   ///< Removed, but the servers have it after all.
    bool by_collection = false;  ///< Destroyed because the collection said so.
    bool over = false;           ///< Its runner has nothing more to end.
  };

  struct GarbagePromise {
    std::string alloc_id;  ///< Empty: every marked one.
    actor::Promise<client_api::Done> promise;
  };

  /// Whether the allocation is here, and the caller may do with it what he asks.
  Result<access::Allowed> check_caller(const std::string& alloc_id,
                                       const access::Asking& asking) const;

  static Error unknown(const std::string& alloc_id);

  AllocRunner run(AllocSetup setup);
  void hold_job(Alloc& alloc, const Object<schema::Job>& job, storage::ClientBatch& batch);
  void release_job(Alloc& alloc, storage::ClientBatch& batch);
  void erase_rows(const std::string& alloc_id);
  void restore(client_db::SavedAlloc& saved);
  void go_on_above(std::uint64_t report_number);
  void add(const AssignedAlloc& assigned, storage::ClientBatch& batch);
  void run_added(const AssignedAlloc& assigned, const Result<>& saved);
  void save_update(const AssignedAlloc& assigned, storage::ClientBatch& batch);
  void reject(const std::string& alloc_id, std::string_view reason);
  void update(const AssignedAlloc& assigned);
  void remove(const std::string& alloc_id);
  workload::ExistingAllocs existing() const;
  void tell_end(const Alloc& alloc, bool again);
  void watch_patience(const std::string& alloc_id);
  void arm_stop_look();
  void collect_one(const std::string& alloc_id);
  void tell_over(const std::string& alloc_id);
  void stop_keeping(const std::string& for_whom);
  void destroy(const std::string& alloc_id);
  void gone(const std::string& alloc_id);
  void destroyed(const std::string& alloc_id);
  void answer_garbage(const std::string& alloc_id);
  std::vector<driver::TaskId> kept_tasks() const;
  void give_up(const std::string& alloc_id, std::string_view reason);
  void runner_crashed(const std::string& alloc_id, const actor::Down& down);

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  ClientSelf::pointer self_;
  const ClientFacts& facts_;
  NodeCpus& cpus_;

  std::unordered_map<std::string, Alloc> allocs_;
  std::unordered_map<std::string, std::size_t> jobs_;  ///< Allocations with a row, by job key.
  std::map<actor::Address, std::string> runners_;      ///< Alloc id by runner.
  Orphans orphans_;
  bool wants_all_ = false;
  bool contacted_ = false;  ///< The servers' first answer is in force.
  bool impatient_ = false;  ///< Of the present `apply`.
  /// Of the reports on allocations without a runner: nothing that a runner told comes after them.
  std::uint64_t rest_version_ = std::uint64_t{1} << 62;

  workload::HeartbeatStop heartbeat_stop_;
  std::uint64_t stop_look_round_ = 0;

  workload::GcQueue gc_{{}};
  workload::GcUsage usage_;
  std::vector<GarbagePromise> garbage_;
  AwaitedEnds awaited_;
};

}  // namespace nomad::client
