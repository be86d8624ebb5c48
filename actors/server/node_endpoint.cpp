#include "actors/server/node_endpoint.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/actor_proposer.hpp"
#include "actors/server/service_writes.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/drain/drain_commands.hpp"
#include "runtime/cluster/node_commands.hpp"
#include "runtime/cluster/predecessor.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using client::server_link::AssignedAllocs;
using client::server_link::AwaitPrevious;
using client::server_link::DeregisterServices;
using client::server_link::DrainNode;
using client::server_link::EmitEvents;
using client::server_link::NodeDrain;
using client::server_link::Previous;
using client::server_link::RegisterServices;
using client::server_link::UpdateAllocs;
using client::server_link::Updated;
using client::server_link::WatchAllocs;

/// Something that node `node_id` waits for has changed.
struct NodeTouched {
  using is_message = void;
  std::string node_id;
  std::uint64_t watch;
};

/// A watch has lasted as long as its node wanted.
struct WatchOver {
  using is_message = void;
  std::string node_id;
  std::uint64_t watch;
};

/// What allocation `alloc_id` replaces has changed, or it has been waited for long enough.
struct PredecessorDue {
  using is_message = void;
  std::string alloc_id;
  std::uint64_t wait;
  bool over;
};

/// Reports that may wait have waited.
struct ReportsDue {
  using is_message = void;
};

using NodeEndpointSelf = actor::WithInternal<NodeEndpoint,
                                             void(NodeTouched),
                                             void(WatchOver),
                                             void(PredecessorDue),
                                             void(ReportsDue),
                                             void(WriteDone)>;

/// What no ClientStatus depends on is written this often at most, unless with something else.
constexpr auto report_patience = 50ms;

template <class Reply>
void refuse(actor::Promise<Reply>& promise, const Error& error) {
  promise.deliver(error);
}

/// A node's question that is held until there is something to answer.
struct Watch {
  std::uint64_t number = 0;
  std::uint64_t min_index = 0;
  actor::Promise<AssignedAllocs> promise;
  state::Watches::Subscription subscription;
  actor::Timer end;
};

/// A question about a predecessor that has not ended.
struct PredecessorWait {
  std::uint64_t number = 0;
  std::string node_id;
  actor::Promise<Previous> promise{};
  state::Watches::Subscription subscription{};
  actor::Timer end{};
};

/// What a node was told last: from this the endpoint sees whether something was forgotten.
struct LastAnswer {
  std::uint64_t index = 0;
  std::uint64_t count = 0;
};

/// Nodes that the state does not have (yet, or any more) and that ask all the same.
constexpr std::size_t most_strangers = 256;

struct NodeEndpointState {
  static constexpr const char* name = "node_endpoint";

  using Self = NodeEndpointSelf::stateful_pointer<NodeEndpointState>;

  struct Report {
    std::vector<Object<schema::Allocation>> allocs;
    actor::Promise<Updated> promise;
  };

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  std::shared_ptr<const raft::LeaderLease> lease;  ///< None: always ours.
  Random random{0};
  std::unordered_map<std::string, Watch> watches;                 ///< By node.
  std::unordered_map<std::string, LastAnswer> last_answers;       ///< By node.
  std::unordered_map<std::string, PredecessorWait> predecessors;  ///< By who replaces them.
  std::uint64_t next_watch = 1;
  std::vector<Report> reports;  ///< That wait, for the entry being written or for others.
  bool writing_reports = false;
  bool reports_hurry = false;
  bool reports_timed = false;  ///< ReportsDue comes.
  ServiceWrites service_writes{
      [this](const auto& command, auto then) { write(command, std::move(then)); }};

  cluster::EvalSeed seed() { return {unix_now(), &random}; }

  void write(const Object<schema::Command>& command, ActorProposer::Then then) {
    writes->propose(NodeEndpointSelf{self}, command, std::move(then));
  }

  // -- what a node should run --------------------------------------------------------------------

  actor::Answer<AssignedAllocs> watch(const WatchAllocs& msg) {
    end_watch(msg.node_id);  // a node asks one question at a time; the older one is void
    const auto snapshot = store->snapshot();
    if (watches.size() >= snapshot.nodes_map().size() + most_strangers
        && !snapshot.node(msg.node_id))
      return Error{Errc::overloaded, "too many unknown nodes ask what they should run"};
    auto& watch = watches[msg.node_id];
    watch.number = next_watch++;
    watch.min_index = msg.min_index;
    watch.promise = self->make_response_promise<AssignedAllocs>();
    auto promise = watch.promise;
    const auto number = watch.number;
    if (!answer(msg.node_id))
      watches.at(msg.node_id).end
          = actor::send_self_after(self, msg.max_wait, WatchOver{msg.node_id, number});
    return promise;
  }

  void end_watch(const std::string& node_id) {
    auto entry = watches.extract(node_id);
    if (entry.empty()) return;
    self->cancel(entry.mapped().end);
    entry.mapped().promise.deliver(AssignedAllocs{entry.mapped().min_index, false, {}});
  }

  /// Answers the node's question if there is something new, else subscribes.
  bool answer(const std::string& node_id) {
    auto& watch = watches.at(node_id);
    watch.subscription = subscribe(node_id, watch.number);
    auto set = alloc_set(node_id, watch.min_index);
    if (!set.complete && set.index <= watch.min_index) return false;
    auto promise = watch.promise;
    self->cancel(watch.end);
    watches.erase(node_id);
    if (lease && !lease->holds()) {  // asked after the snapshot was taken
      last_answers.erase(node_id);
      refuse(promise, no_leader());
      return true;
    }
    promise.deliver(std::move(set));
    return true;
  }

  state::Watches::Subscription subscribe(const std::string& node_id, std::uint64_t number) {
    const auto weak = actor::Weak<NodeEndpointSelf>{self};
    return store->watches().subscribe({state::watch_key(state::Table::allocs_for_node, node_id)},
                                      [weak, node_id, number] {
                                        if (auto strong = weak.lock())
                                          actor::tell(strong, NodeTouched{node_id, number});
                                      });
  }

  /// What is new since `min_index`; no work for what is not.
  AssignedAllocs alloc_set(const std::string& node_id, std::uint64_t min_index) {
    const auto snapshot = store->snapshot();
    const auto count = snapshot.alloc_count(node_id);
    AssignedAllocs set{.index = min_index, .complete = false, .allocs = {}};
    std::size_t created = 0;
    for (const auto& entry : snapshot.allocs_changed_after(min_index, node_id)) {
      const auto& row = *entry.value();
      created += row.alloc->getCreateIndex() > min_index ? 1 : 0;
      set.index = row.alloc->getAllocModifyIndex();  // ascending
      set.allocs.push_back({row.alloc, row.job});
    }
    const auto before = last_answers.find(node_id);
    const bool forgot = before == last_answers.end() || before->second.index != min_index
                        || before->second.count + created != count
                        || min_index < snapshot.index(state::Table::restore_rows);  // other rows
    if (min_index == 0 || forgot) {
      set.complete = true;
      set.index = std::max({snapshot.index(), min_index, std::uint64_t{1}});
      if (set.allocs.size() < count) set.allocs = all_allocs(snapshot, node_id);
    }
    if (set.complete || set.index > min_index) remember(snapshot, node_id, {set.index, count});
    return set;
  }

  static std::vector<client::server_link::AssignedAlloc> all_allocs(const state::Snapshot& snapshot,
                                                                    const std::string& node_id) {
    std::vector<client::server_link::AssignedAlloc> all;
    for (const auto& entry : snapshot.allocs_by_node(node_id))
      all.push_back({entry.value()->alloc, entry.value()->job});
    return all;
  }

  void remember(const state::Snapshot& snapshot, const std::string& node_id, LastAnswer answer) {
    last_answers[node_id] = answer;
    if (last_answers.size() > snapshot.nodes_map().size() + most_strangers)
      std::erase_if(last_answers, [&](const auto& entry) {
        return entry.first != node_id && !snapshot.node(entry.first);
      });
  }

  // -- what an allocation replaces ---------------------------------------------------------------

  actor::Answer<Previous> await_previous(const AwaitPrevious& msg) {
    end_wait(msg.alloc_id, Previous{});  // The older question is void.
    PredecessorWait wait{.number = next_watch++, .node_id = msg.node_id};
    auto found = NOMAD_TRY(cluster::predecessor_of(store->snapshot(), msg.node_id, msg.alloc_id));
    if (!found.ended) {
      wait.subscription = subscribe_to(found.id, msg.alloc_id, wait.number);
      found = NOMAD_TRY(cluster::predecessor_of(store->snapshot(), msg.node_id, msg.alloc_id));
    }
    if (lease && !lease->holds()) return no_leader();
    if (found.ended) return previous_of(std::move(found));
    wait.end = actor::send_self_after(self, msg.max_wait,
                                      PredecessorDue{msg.alloc_id, wait.number, true});
    wait.promise = self->make_response_promise<Previous>();
    auto promise = wait.promise;
    predecessors.emplace(msg.alloc_id, std::move(wait));
    return promise;
  }

  static Previous previous_of(cluster::Predecessor found) {
    return {.ended = found.ended,
            .http_address = std::move(found.http_address),
            .tls = found.tls,
            .migrate_token = std::move(found.migrate_token)};
  }

  state::Watches::Subscription subscribe_to(const std::string& previous,
                                            const std::string& alloc_id,
                                            std::uint64_t number) {
    const auto weak = actor::Weak<NodeEndpointSelf>{self};
    return store->watches().subscribe(
        {state::watch_key(state::Table::allocs, previous)}, [weak, alloc_id, number] {
          if (auto strong = weak.lock())
            actor::tell(strong, PredecessorDue{alloc_id, number, false});
        });
  }

  void end_wait(const std::string& alloc_id, Result<Previous> with) {
    auto wait = predecessors.extract(alloc_id);
    if (wait.empty()) return;
    self->cancel(wait.mapped().end);
    if (with)
      wait.mapped().promise.deliver(std::move(*with));
    else
      wait.mapped().promise.deliver(with.error());
  }

  void predecessor_due(const PredecessorDue& msg) {
    const auto wait = predecessors.find(msg.alloc_id);
    if (wait == predecessors.end() || wait->second.number != msg.wait) return;
    const auto node_id = wait->second.node_id;
    auto look = [&] { return cluster::predecessor_of(store->snapshot(), node_id, msg.alloc_id); };
    auto found = look();
    if (found && !found->ended && !msg.over) {  // Watches tell once.
      wait->second.subscription = subscribe_to(found->id, msg.alloc_id, msg.wait);
      found = look();
      if (found && !found->ended) return;
    }
    if (!found) return end_wait(msg.alloc_id, found.error());
    if (lease && !lease->holds()) return end_wait(msg.alloc_id, no_leader());
    end_wait(msg.alloc_id, previous_of(std::move(*found)));
  }

  // -- what nodes report -------------------------------------------------------------------------

  actor::Answer<Updated> report(const UpdateAllocs& msg) {
    const auto snapshot = store->snapshot();
    const auto node_id = NOMAD_TRY(cluster::check_reporter(snapshot, msg.allocs, msg.node_id));
    Report report{.allocs = msg.allocs, .promise = {}};
    std::erase_if(report.allocs, [&](const Object<schema::Allocation>& alloc) {
      const bool foreign = cluster::is_foreign(snapshot, *alloc, node_id);
      if (foreign)
        log::warn("node_endpoint", "node {} reports allocation {} of another node; passed over",
                  short_id(node_id), short_id(copy(alloc->getId())));
      return foreign;
    });
    if (report.allocs.empty()) return Updated{snapshot.index()};
    report.promise = self->make_response_promise<Updated>();
    auto promise = report.promise;
    reports.push_back(std::move(report));
    reports_hurry = reports_hurry || !msg.may_wait;
    write_reports();
    return promise;
  }

  actor::Answer<Updated> note_events(const EmitEvents& msg) {
    const auto snapshot = store->snapshot();
    const auto decision
        = NOMAD_TRY(cluster::decide_node_events(snapshot, msg.node_id, msg.events, unix_now()));
    if (!decision.command) return Updated{snapshot.index()};
    auto promise = self->make_response_promise<Updated>();
    write(decision.command, [promise](Result<Committed> written) mutable {
      if (written)
        promise.deliver(Updated{written->index});
      else
        promise.deliver(written.error());
    });
    return promise;
  }

  // -- a node that leaves -----------------------------------------------------------------------

  actor::Answer<NodeDrain> drain(const DrainNode& msg) {
    const auto snapshot = store->snapshot();
    if (lease && !lease->holds()) return no_leader();
    if (!msg.start) {
      const auto node = snapshot.node(msg.node_id);
      if (!node) return Error{Errc::not_found, "node not found"};
      return NodeDrain{.draining = node->hasDrainStrategy()};
    }
    const auto decision = NOMAD_TRY(cluster::decide_own_drain(
        snapshot, msg.node_id, {msg.deadline.count(), msg.ignore_system_jobs}, seed()));
    auto promise = self->make_response_promise<NodeDrain>();
    write(decision.command, [promise](Result<Committed> written) mutable {
      if (written)
        promise.deliver(NodeDrain{.draining = true});
      else
        promise.deliver(written.error());
    });
    return promise;
  }

  void write_reports() {
    if (writing_reports || reports.empty()) return;
    if (!reports_hurry) {
      if (!std::exchange(reports_timed, true))
        actor::send_self_after(self, report_patience, ReportsDue{});
      return;
    }
    writing_reports = true;
    reports_hurry = false;
    auto batch = std::make_shared<std::vector<Report>>(std::exchange(reports, {}));
    std::vector<Object<schema::Allocation>> all;
    for (auto& each : *batch)
      all.insert(all.end(), each.allocs.begin(), each.allocs.end());
    const auto decision = cluster::decide_reports(store->snapshot(), all, seed());
    write(decision.command, [this, batch](Result<Committed> written) {
      writing_reports = false;
      for (auto& each : *batch) {
        if (written)
          each.promise.deliver(Updated{written->index});
        else
          each.promise.deliver(written.error());
      }
      write_reports();
    });
  }

  // -- what nodes offer --------------------------------------------------------------------------

  actor::Answer<Updated> add_services(const RegisterServices& msg) {
    const auto snapshot = store->snapshot();
    return change_services(snapshot,
                           cluster::check_registrations(snapshot, msg.node_id, msg.services));
  }

  actor::Answer<Updated> remove_services(const DeregisterServices& msg) {
    const auto snapshot = store->snapshot();
    return change_services(
        snapshot, cluster::check_deregistration(snapshot, msg.node_id, msg.alloc_id, msg.ids));
  }

  actor::Answer<Updated> change_services(const state::Snapshot& snapshot,
                                         Result<cluster::ServiceChange> change) {
    // Asked after the snapshot was taken: one of a leader that has yet to apply what it took over
    // knows neither the allocation nor what is to go, and its word is final to whoever asks.
    if (lease && !lease->holds()) return no_leader();
    if (!change) return change.error();
    if (change->empty()) return Updated{snapshot.index()};
    NOMAD_TRY(service_writes.check_room(*change));
    auto promise = self->make_response_promise<Updated>();
    service_writes.add(std::move(*change), promise);
    return promise;
  }
};

NodeEndpointSelf::behavior_type node_endpoint_actor(NodeEndpointState::Self self,
                                                    std::shared_ptr<state::Store> store,
                                                    raft::Proposer proposer,
                                                    std::shared_ptr<const raft::LeaderLease> lease,
                                                    std::uint64_t random_seed) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(std::move(proposer), access::own_work("node_endpoint"));
  state.lease = std::move(lease);
  state.random = Random{self->seed(random_seed)};

  return {
      [self](const WatchAllocs& msg) { return self->state.watch(msg); },
      [self](const UpdateAllocs& msg) { return self->state.report(msg); },
      [self](const RegisterServices& msg) { return self->state.add_services(msg); },
      [self](const DeregisterServices& msg) { return self->state.remove_services(msg); },
      [self](const EmitEvents& msg) { return self->state.note_events(msg); },
      [self](const DrainNode& msg) { return self->state.drain(msg); },
      [self](const AwaitPrevious& msg) { return self->state.await_previous(msg); },
      [self](const PredecessorDue& msg) { self->state.predecessor_due(msg); },
      [self](ReportsDue) {
        auto& state = self->state;
        state.reports_timed = false;
        state.reports_hurry = !state.reports.empty();
        state.write_reports();
      },
      [self](const NodeTouched& msg) {
        const auto watch = self->state.watches.find(msg.node_id);
        if (watch != self->state.watches.end() && watch->second.number == msg.watch)
          self->state.answer(msg.node_id);
      },
      [self](const WatchOver& msg) {
        const auto watch = self->state.watches.find(msg.node_id);
        if (watch != self->state.watches.end() && watch->second.number == msg.watch)
          self->state.end_watch(msg.node_id);
      },
      [self](const WriteDone& msg) { self->state.writes->finish(msg); },
  };
}

}  // namespace

NodeEndpoint spawn_node_endpoint(const actor::Owner& owner,
                                 std::shared_ptr<state::Store> store,
                                 raft::Proposer proposer,
                                 std::shared_ptr<const raft::LeaderLease> lease,
                                 std::uint64_t random_seed) {
  return actor::spawn<actor::Policy::restart>(owner, node_endpoint_actor, std::move(store),
                                              std::move(proposer), std::move(lease), random_seed);
}

}  // namespace nomad::server
