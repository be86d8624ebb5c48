// NodeAllocs: the allocations of this node and their runners. It carries out what the ledger
// decides (runtime/workload/node/alloc_ledger.hpp), and hands requests about one allocation to its
// runner. Part of the client actor; works in its turns.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/client/alloc_runner.hpp"
#include "actors/client/fingerprint/node_builder.hpp"
#include "actors/client/node/node_cpus.hpp"
#include "actors/client/node/orphans.hpp"
#include "actors/client/report_numbers.hpp"
#include "actors/client/tools/check_runner.hpp"
#include "actors/client/tools/node_identities.hpp"
#include "actors/core/part.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/workload/node/alloc_ledger.hpp"

namespace nomad::client {

class NodeAllocs {
public:
  /// Timers.
  struct StopLook {
    using is_message = void;
    std::uint64_t round;
  };

  /// Whether allocations that have ended are to be removed for want of disk, and networks be taken
  /// down that are left of some.
  struct CollectDue {
    using is_message = void;
  };

  using Messages = actor::Interface<void(alloc_runner::Status),
                                    alloc_runner::Ended(alloc_runner::AwaitEnd),
                                    void(StopLook),
                                    void(CollectDue)>;

  /// By reference: what the client comes to know, and changes.
  struct Parts {
    ClientDb db;
    BlockingPool steps;
    AllocRunnerFactory make_runner;
    AllocCheck check_alloc;
    std::string alloc_dir;
    UnixClock unix_now;
    NodeCpus& cpus;
    const std::chrono::nanoseconds& gc_interval;
    const bool& disable_remote_exec;
    const bool& stopping;
    const NodeIdentity& identity;
    const AllocSync& sync;
    const CheckRunner& checks;
    const NodeIdentities& node_identities;
    const std::shared_ptr<ReportNumbers>& report_numbers;
    const std::shared_ptr<const network::NetworkOptions>& network;
    const std::shared_ptr<const RunnerContext>& context;   ///< For the runners that come,
    const std::shared_ptr<const AllocParts>& for_runners;  ///< and so is this.
    std::function<void()> runs_another;                    ///< Called when one has got a runner.
  };

  NodeAllocs(actor::PartSelf<Messages> self, Parts parts)
      : self_{self}, parts_{std::move(parts)}, orphans_{self, parts_.steps} {}

  NodeAllocs(const NodeAllocs&) = delete;
  NodeAllocs& operator=(const NodeAllocs&) = delete;

  auto handlers() {
    return actor::handlers(
        [this](client_api::AllocDirOf& msg) { return pass_on<client_api::AllocDir>(msg); },
        [this](client_api::Exec& msg) { return exec(msg); },
        [this](const client_api::MayExec& msg) { return may_exec(msg); },
        [this](const client_api::DiskOf& msg) { return disk_of(msg); },
        [this](const alloc_runner::Status& msg) { status_changed(msg); },
        [this](const alloc_runner::AwaitEnd& msg) { return await_end(msg); },
        [this](StopLook msg) { stop_look(msg.round); }, [this](CollectDue) { collect(); });
  }

  /// Has the allocation's runner answer, if the caller may ask about it.
  actor::Answer<door::NodeReply> ask_runner(door::NodeAsk& msg);

  /// Answers what is asked of more than a runner: usage, checks, identities, garbage collection.
  actor::Answer<door::NodeReply> answer(const door::NodeAsk& msg);

  /// Runs again what the last agent left. Once, when everything of the client is there.
  void take_up(client_db::Loaded loaded, const workload::GcLimits& limits);

  bool empty() const { return ledger_.entries().empty(); }

  /// Whether one has not ended.
  bool has_live() const;

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

  // -- collection.

  /// Of collection, from now on.
  void set_limits(const workload::GcLimits& limits) { ledger_.set_limits(limits); }

  /// The servers know that these have ended.
  void end_acknowledged(const std::vector<std::string>& ids) { ledger_.end_acknowledged(ids); }

  // -- runners.

  /// False: it was no runner.
  bool child_down(const actor::Down& down);

  void driver_replaced(const alloc_runner::DriverReplaced& msg);

  /// Ends all runners; their tasks go on, unless `with_tasks`. `then` is called when they have.
  void stop(bool with_tasks, std::function<void()> then);

private:
  /// Hands a request about one allocation to its runner, if the caller may ask it.
  template <class Reply, class Message>
  actor::Answer<Reply> pass_on(Message& msg) {
    NOMAD_TRY(check_caller(msg.alloc_id, msg.asking));
    const auto runner = runners_.find(msg.alloc_id);
    if (runner == runners_.end()) return unknown(msg.alloc_id);
    return self_->delegate(runner->second, std::move(msg));
  }

  actor::Answer<client_api::ExecStarted> exec(client_api::Exec& msg);
  Result<> find_action(client_api::Exec& msg) const;
  Result<> check_exec(const client_api::MayExec& msg) const;
  actor::Answer<client_api::ExecAllowed> may_exec(const client_api::MayExec& msg) const;
  bool is_isolated(const std::string& alloc_id, const std::string& task) const;
  actor::Answer<client_api::AllocDir> disk_of(const client_api::DiskOf& msg);

  actor::Answer<door::NodeReply> usage(const door::NodeAsk& msg);

  /// Who runs them knows how they stand, so also of an allocation that has ended.
  actor::Answer<door::NodeReply> checks(const door::NodeAsk& msg);
  actor::Answer<door::NodeReply> identities(const door::NodeAsk& msg);

  /// Collects the allocation that `msg` names, or all that have ended.
  actor::Answer<door::NodeReply> collect_garbage(const door::NodeAsk& msg);

  void status_changed(const alloc_runner::Status& msg);

  /// Who waits for the end of another allocation of this node hears of it.
  actor::Answer<alloc_runner::Ended> await_end(const alloc_runner::AwaitEnd& msg);

  void stop_look(std::uint64_t round);

  void collect();

  /// Collects when the disk is too full.
  void look_at_disk();

  /// Takes networks down that are of no allocation here. Nothing before the servers have said which
  /// these are.
  void leave_orphaned_networks();

  /// Whether the allocation is here, and the caller may do with it what he asks.
  Result<access::Allowed> check_caller(const std::string& alloc_id,
                                       const access::Asking& asking) const;

  const KnownDrivers& drivers() const;

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
    return {.steady = self_->now().time_since_epoch(), .unix = parts_.unix_now()};
  }

  actor::PartSelf<Messages> self_;
  Parts parts_;

  workload::AllocLedger ledger_;
  bool performing_ = false;
  std::unordered_map<std::string, AllocRunner> runners_;  ///< Of those that have one.
  std::map<actor::Address, std::string> alloc_ids_;       ///< By runner, until it is down.
  std::map<std::string, client_db::SavedAlloc> saved_;    ///< Whose runners are yet to be made.
  Orphans orphans_;
  std::function<void(bool impatient)> applied_;
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, actor::Promise<alloc_runner::Ended>> awaiting_;  ///< By ticket.
  std::map<std::uint64_t, actor::Promise<door::NodeReply>> collecting_;    ///< By ticket.
};

}  // namespace nomad::client
