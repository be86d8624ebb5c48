#include "actors/server/drain/node_drainer.hpp"

#include <map>
#include <set>
#include <variant>

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using cluster::DrainedJob;
using state::Table;

/// A node's `deadline` is over. `term` counts leaderships.
struct LookAtNode {
  using is_message = void;
  std::string id;
  std::uint64_t term;
  std::int64_t deadline = 0;
};

/// The next round is due.
struct DrainRoundDue {
  using is_message = void;
  std::uint64_t term;
};

using DrainerSelf = actor::WithInternal<LeaderDuty, void(LookAtNode), void(DrainRoundDue)>;

constexpr auto failed_round_delay = 1s;

struct DrainerState {
  static constexpr const char* name = "node_drainer";

  using Self = DrainerSelf::stateful_pointer<DrainerState>;
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Node {
    state::Watches::Subscription subscription{};
    std::int64_t deadline = 0;  ///< A LookAtNode is set for it.
    actor::Timer timer{};       ///< That one.
  };

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  NodeDrainerOptions options;
  Random random{0};
  std::uint64_t term = 0;
  bool leads = false;
  bool settled = true;
  state::Watches::Subscription drains;
  std::map<std::string, Node> nodes;  ///< That drain.
  std::map<DrainedJob, state::Watches::Subscription> jobs;
  bool drains_due = false;
  std::set<std::string> due_nodes;
  std::set<DrainedJob> due_jobs;
  bool round_is_due = false;  ///< A DrainRoundDue is on its way.
  std::size_t under_way = 0;  ///< Commands of the last round that are not applied yet.
  bool failed = false;        ///< One of them was not.
  std::optional<TimePoint> last_round{};

  // -- what is watched --------------------------------------------------------------------------

  void lead(bool now_leads) {
    leads = now_leads;
    if (!settled) return;
    ++term;
    for (auto& [id, node] : nodes)
      self->cancel(node.timer);
    nodes.clear();
    jobs.clear();
    due_nodes.clear();
    due_jobs.clear();
    drains.cancel();
    round_is_due = failed = false;
    under_way = 0;
    last_round.reset();
    drains_due = leads;
    round_soon();
  }

  /// What was proposed before a restart is applied, or never will be, before anything is decided.
  void settle() {
    settled = false;
    writes->when_settled([this] {
      settled = true;
      lead(leads);
    });
  }

  /// When one of `keys` changes under this leadership, `note` says what is due.
  template <class Note>
  state::Watches::Subscription watch(std::vector<state::WatchKey> keys, Note note) {
    return store->watches().subscribe(std::move(keys),
                                      actor::turns_of(self).callback([this, note, asked = term] {
                                        if (asked != term) return;
                                        note();
                                        round_soon();
                                      }));
  }

  /// Finds nodes that have begun to drain. Those that are known tell of themselves.
  void find_drains() {
    drains = watch({state::watch_prefix(Table::draining_nodes, "")}, [this] { drains_due = true; });
    for (const auto& id : store->snapshot().draining_nodes())
      if (nodes.try_emplace(id).second) due_nodes.insert(id);
  }

  void follow(const std::string& id) {
    nodes.at(id).subscription = watch(
        {state::watch_key(Table::draining_nodes, id), state::watch_key(Table::allocs_by_node, id)},
        [this, id] {
          if (nodes.contains(id)) due_nodes.insert(id);
        });
  }

  void follow(const DrainedJob& job) {
    const auto key = state::join_key(job.ns, job.id);
    jobs[job]
        = watch({state::watch_key(Table::allocs_by_job, key), state::watch_key(Table::jobs, key),
                 state::watch_key(Table::evals_by_job, key)},
                [this, job] {
                  if (jobs.contains(job)) due_jobs.insert(job);
                });
  }

  // -- rounds -----------------------------------------------------------------------------------

  void round_soon() {
    if (round_is_due || under_way > 0) return;
    if (!drains_due && due_nodes.empty() && due_jobs.empty()) return;
    const auto now = self->now();
    const auto next
        = last_round ? *last_round + (failed ? failed_round_delay : options.round_period) : now;
    if (next <= now) return go_round();
    round_is_due = true;
    actor::send_self_after(self, next - now, DrainRoundDue{term});
  }

  void go_round() {
    if (std::exchange(drains_due, false)) find_drains();
    const auto due = std::exchange(due_nodes, {});
    const auto due_too = std::exchange(due_jobs, {});
    last_round = self->now();
    failed = false;
    for (const auto& id : due)
      follow(id);
    for (const auto& job : due_too)
      follow(job);
    const auto round
        = options.decide(store->snapshot(), due, due_too, {options.wall_clock(), &random});
    for (const auto& wait : round.waits)
      log::warn("drain", "nothing has room for a group of the drained node",
                {{"node", wait.node}, {"job", wait.job}, {"group", wait.group}});
    bool has_new_jobs = false;
    for (const auto& [id, outlook] : round.nodes)
      has_new_jobs = note(id, outlook) || has_new_jobs;
    for (const auto& job : round.finished)
      jobs.erase(job);
    if (round.goes_on) {
      due_nodes.insert(due.begin(), due.end());
      due_jobs.insert(due_too.begin(), due_too.end());
    }
    write(round.commands, due, due_too);
    if (has_new_jobs && under_way == 0) return go_round();
    round_soon();
  }

  /// Whether the node waits for jobs that were not known.
  bool note(const std::string& id, const cluster::DrainOutlook& outlook) {
    const auto entry = nodes.find(id);
    if (outlook.is_over) {
      self->cancel(entry->second.timer);
      nodes.erase(entry);
      return false;
    }
    bool has_new_jobs = false;
    for (const auto& job : outlook.jobs)
      if (jobs.try_emplace(job).second) has_new_jobs = due_jobs.insert(job).second;
    set_deadline(id, entry->second, outlook.look_again);
    return has_new_jobs;
  }

  void set_deadline(const std::string& id, Node& node, std::int64_t deadline) {
    if (deadline == node.deadline) return;
    self->cancel(node.timer);
    node.deadline = deadline;
    if (deadline == 0) return;
    const auto left = std::chrono::nanoseconds{node.deadline - options.wall_clock()};
    node.timer = actor::send_self_after(self, std::max<std::chrono::nanoseconds>(left, 0ns),
                                        LookAtNode{id, term, node.deadline});
  }

  /// Nothing is looked at again before all of it is applied: what was marked would be marked twice.
  void write(const std::vector<Object<schema::Command>>& commands,
             const std::set<std::string>& of_nodes,
             const std::set<DrainedJob>& of_jobs) {
    under_way += commands.size();
    for (const auto& command : commands)
      writes->propose(command,
                      [this, of_nodes, of_jobs, asked = term](const Result<Committed>& done) {
                        if (asked != term) return;
                        --under_way;
                        if (!done) try_again(done.error(), of_nodes, of_jobs);
                        round_soon();
                      });
  }

  void try_again(const Error& error,
                 const std::set<std::string>& of_nodes,
                 const std::set<DrainedJob>& of_jobs) {
    log::warn("drain", "a change of a drain was not written", {{"error", error}});
    failed = true;
    for (const auto& id : of_nodes)
      if (nodes.contains(id)) due_nodes.insert(id);
    due_jobs.insert(of_jobs.begin(), of_jobs.end());
  }
};

DrainerSelf::behavior_type node_drainer(DrainerState::Self self,
                                        std::shared_ptr<state::Store> store,
                                        raft::Proposer proposer,
                                        NodeDrainerOptions options) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(self, std::move(proposer), access::own_work("node_drainer"));
  state.options = std::move(options);
  if (!state.options.wall_clock) state.options.wall_clock = unix_now;
  state.random = Random{self->seed(state.options.random_seed)};
  if (self->began_again()) state.settle();

  return {
      [self](Lead msg) { self->state.lead(msg.leads); },
      [self](const LookAtNode& msg) {
        auto& state = self->state;
        const auto node = state.nodes.find(msg.id);
        if (msg.term != state.term || node == state.nodes.end()) return;
        // Unless it is really over (wall clocks are set back), the next look sets it again.
        if (msg.deadline == node->second.deadline) node->second.deadline = 0;
        state.due_nodes.insert(msg.id);
        state.round_soon();
      },
      [self](DrainRoundDue msg) {
        auto& state = self->state;
        if (msg.term != state.term) return;
        state.round_is_due = false;
        state.round_soon();
      },
  };
}

}  // namespace

LeaderDuty spawn_node_drainer(const actor::Owner& owner,
                              std::shared_ptr<state::Store> store,
                              raft::Proposer proposer,
                              NodeDrainerOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, node_drainer, std::move(store),
                                              std::move(proposer), std::move(options));
}

}  // namespace nomad::server
