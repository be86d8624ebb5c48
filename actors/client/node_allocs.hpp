// NodeAllocs: the allocations of this node and their runners. It carries out what the ledger
// decides (runtime/workload/node/alloc_ledger.hpp), and hands requests about one allocation to its
// runner. Part of the client actor; works in its turns.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/client/client_facts.hpp"
#include "actors/client/node/node_cpus.hpp"
#include "actors/client/node/orphans.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/workload/node/alloc_ledger.hpp"

namespace nomad::client {

class NodeAllocs {
public:
  /// All outlive it.
  NodeAllocs(ClientSelf::pointer self, const ClientFacts& facts, NodeCpus& cpus)
      : self_{self}, facts_{facts}, cpus_{cpus}, orphans_{self, facts} {}

  NodeAllocs(const NodeAllocs&) = delete;
  NodeAllocs& operator=(const NodeAllocs&) = delete;

  /// Runs again what the last agent left. Once; options and context are there.
  void take_up(client_db::Loaded loaded);

  bool empty() const { return ledger_.entries().empty(); }

  std::size_t size() const { return ledger_.entries().size(); }

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
  void apply(workload::AssignedAllocs set, std::function<void(bool impatient)> then);

  /// They have answered for the first time: restored tasks that were lost may start again.
  void servers_contacted();

  /// Whether the next question has to be for all allocations; asked once.
  bool take_wants_all() { return ledger_.take_wants_all(); }

  /// Tells them of every allocation, so that they use the node again. Those that could not run
  /// here, or that the servers took for lost before they did, have no runner to tell it.
  void report_all();

  // -- without servers.

  /// They have answered a heartbeat or a registration.
  void heard_of_servers() { ledger_.heard_of_servers(time()); }

  /// How long the least patient allocation may be without them.
  std::optional<Nanoseconds> shortest_patience() const { return ledger_.shortest_patience(); }

  void stop_look(std::uint64_t round);

  // -- collection.

  /// Of collection, from now on.
  void set_limits(const workload::GcLimits& limits) { ledger_.set_limits(limits); }

  /// Collects when the disk is too full.
  void look_at_disk();

  /// Takes networks down that are of no allocation here. Nothing before the servers have said which
  /// these are.
  void leave_orphaned_networks();

  actor::Answer<client_api::Done> collect_garbage(const client_api::CollectGarbage& msg);

  /// The servers know that these have ended.
  void end_acknowledged(const std::vector<std::string>& ids) { ledger_.end_acknowledged(ids); }

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
    const auto runner = runners_.find(msg.alloc_id);
    if (runner == runners_.end()) return unknown(msg.alloc_id);
    return self_->delegate(runner->second, std::move(msg));
  }

  actor::Answer<client_api::ExecStarted> exec(client_api::Exec& msg);
  actor::Answer<client_api::AllocDir> disk_of(const client_api::DiskOf& msg);

  /// Who runs them knows how they stand, so also of an allocation that has ended.
  actor::Answer<client_api::CheckReports> checks(const client_api::AllocChecks& msg);

private:
  /// Whether the allocation is here, and the caller may do with it what he asks.
  Result<access::Allowed> check_caller(const std::string& alloc_id,
                                       const access::Asking& asking) const;

  static Error unknown(const std::string& alloc_id);

  void go_on_above(std::uint64_t report_number);
  std::vector<driver::TaskId> kept_tasks() const;
  void removed(const std::string& alloc_id);
  void rows_erased(const std::string& alloc_id);

  void perform();
  void perform(const workload::ledger_action::SaveLater& it);
  void perform(const workload::ledger_action::Save& it);
  void perform(const workload::ledger_action::Flush& it);
  void perform(const workload::ledger_action::Run& it);
  void perform(const workload::ledger_action::Begin& it);
  void perform(const workload::ledger_action::Assign& it);
  void perform(const workload::ledger_action::TellContacted& it);
  void perform(const workload::ledger_action::ReportAgain& it);
  void perform(const workload::ledger_action::Destroy& it);
  void perform(const workload::ledger_action::RemoveAbandoned& it);
  void perform(const workload::ledger_action::Release& it);
  void perform(const workload::ledger_action::Report& it);
  void perform(const workload::ledger_action::RestoreReports& it);
  void perform(const workload::ledger_action::ForgetReports& it);
  void perform(const workload::ledger_action::Applied& it);
  void perform(const workload::ledger_action::WaitToLook& it);
  void perform(const workload::ledger_action::AnswerEnd& it);
  void perform(const workload::ledger_action::AnswerCollection& it);
  void perform(const workload::ledger_action::Log& it);

  workload::EventTime time() const {
    return {.steady = self_->now().time_since_epoch(), .unix = facts_.options.unix_now()};
  }

  ClientSelf::pointer self_;
  const ClientFacts& facts_;
  NodeCpus& cpus_;

  workload::AllocLedger ledger_;
  bool performing_ = false;
  std::unordered_map<std::string, AllocRunner> runners_;  ///< Of those that have one.
  std::map<actor::Address, std::string> alloc_ids_;       ///< By runner, until it is down.
  std::map<std::string, client_db::SavedAlloc> saved_;    ///< Whose runners are yet to be made.
  Orphans orphans_;
  std::function<void(bool impatient)> applied_;
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, actor::Promise<alloc_runner::Ended>> awaiting_;  ///< By ticket.
  std::map<std::uint64_t, actor::Promise<client_api::Done>> collecting_;   ///< By ticket.
};

}  // namespace nomad::client
