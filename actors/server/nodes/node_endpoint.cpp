#include "actors/server/nodes/node_endpoint.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/actor_proposer.hpp"
#include "actors/server/nodes/service_writes.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/drain/drain_commands.hpp"
#include "runtime/cluster/node_commands.hpp"
#include "runtime/cluster/previous_alloc.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using DoorPromise = actor::Promise<door::Reply>;

/// A watch has lasted as long as its node wanted.
struct WatchOver {
  using is_message = void;
  std::string node_id;
  std::uint64_t watch;
};

/// What allocation `alloc_id` replaces has been waited for long enough.
struct PreviousAllocOver {
  using is_message = void;
  std::string alloc_id;
  std::uint64_t wait;
};

/// Reports that may wait have waited.
struct ReportsDue {
  using is_message = void;
};

using NodeEndpointSelf
    = actor::WithInternal<NodeDoor, void(WatchOver), void(PreviousAllocOver), void(ReportsDue)>;

/// What no ClientStatus depends on is written this often at most, unless with something else.
constexpr auto report_patience = 50ms;

/// Answers `promise` when a write is done.
void answer_written(const DoorPromise& promise, const Result<Committed>& written) {
  if (written)
    promise.deliver(door::done(written->index));
  else
    promise.deliver(written.error());
}

/// Rows of a node's allocations, each with the version of its job that it runs.
struct AssignedSet {
  std::uint64_t index = 0;
  bool complete = false;
  std::vector<Object<schema::Allocation>> allocs{};
  std::vector<Object<schema::Job>> jobs{};  ///< Of each allocation.
};

/// Each job once, behind the allocations.
door::Reply reply_of(AssignedSet set) {
  std::vector<std::uint32_t> positions;
  std::unordered_map<const std::byte*, std::uint32_t> known;
  auto rows = door::rows_of(set.allocs);
  for (const auto& job : set.jobs) {
    const auto [position, is_new]
        = known.emplace(job.bytes().data(), static_cast<std::uint32_t>(known.size()));
    if (is_new) rows.emplace_back(job);
    positions.push_back(position->second);
  }
  return door::make_reply(
      set.index,
      [&](auto& reply) {
        auto allocs = reply.initAllocs();
        allocs.setComplete(set.complete);
        auto jobs = allocs.initJobs(static_cast<unsigned>(positions.size()));
        for (unsigned i = 0; i < positions.size(); ++i)
          jobs.set(i, positions[i]);
      },
      std::move(rows));
}

/// A node's question that is held until there is something to answer.
struct Watch {
  std::uint64_t number = 0;
  std::uint64_t min_index = 0;
  DoorPromise promise;
  state::Watches::Subscription subscription;
  actor::Timer end;
};

/// A question about a previous allocation that has not ended.
struct PreviousAllocWait {
  std::uint64_t number = 0;
  std::string node_id;
  DoorPromise promise{};
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
    cluster::NodeReport report;
    DoorPromise promise;
  };

  Self self = nullptr;
  Turns turns;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  std::shared_ptr<const raft::LeaderLease> lease;  ///< None: always ours.
  Random random{0};
  std::unordered_map<std::string, Watch> watches;                      ///< By node.
  std::unordered_map<std::string, LastAnswer> last_answers;            ///< By node.
  std::unordered_map<std::string, PreviousAllocWait> previous_allocs;  ///< By who replaces them.
  std::uint64_t next_watch = 1;
  std::vector<Report> reports;  ///< That wait, for the entry being written or for others.
  bool writing_reports = false;
  bool reports_hurry = false;
  bool reports_timed = false;  ///< ReportsDue comes.
  ServiceWrites service_writes{
      [this](const auto& command, auto then) { write(command, std::move(then)); }};

  cluster::EvalSeed seed() { return {unix_now(), &random}; }

  void write(const Object<schema::Command>& command, ActorProposer::Then then) {
    writes->propose(command, std::move(then));
  }

  // -- what a node should run --------------------------------------------------------------------

  actor::Answer<door::Reply> watch(const door::Ask& msg) {
    const auto node_id = msg.subject();
    end_watch(node_id);  // a node asks one question at a time; the older one is void
    const auto snapshot = store->snapshot();
    if (watches.size() >= snapshot.nodes_map().size() + most_strangers && !snapshot.node(node_id))
      return Error{Errc::overloaded, "too many unknown nodes ask what they should run"};
    auto& watch = watches[node_id];
    watch.number = next_watch++;
    watch.min_index = msg->getWatchAllocs();
    watch.promise = self->make_response_promise<door::Reply>();
    auto promise = watch.promise;
    const auto number = watch.number;
    if (!answer_watch(node_id))
      watches.at(node_id).end
          = actor::send_self_after(self, msg.max_wait(), WatchOver{node_id, number});
    return promise;
  }

  void end_watch(const std::string& node_id) {
    auto entry = watches.extract(node_id);
    if (entry.empty()) return;
    self->cancel(entry.mapped().end);
    entry.mapped().promise.deliver(reply_of({.index = entry.mapped().min_index}));
  }

  /// Answers the node's question if there is something new, else subscribes.
  bool answer_watch(const std::string& node_id) {
    auto& watch = watches.at(node_id);
    watch.subscription = subscribe(node_id, watch.number);
    auto set = alloc_set(node_id, watch.min_index);
    if (!set.complete && set.index <= watch.min_index) return false;
    auto promise = watch.promise;
    self->cancel(watch.end);
    watches.erase(node_id);
    if (lease && !lease->holds()) {  // asked after the snapshot was taken
      last_answers.erase(node_id);
      promise.deliver(no_leader());
      return true;
    }
    promise.deliver(reply_of(std::move(set)));
    return true;
  }

  state::Watches::Subscription subscribe(const std::string& node_id, std::uint64_t number) {
    return store->watches().subscribe(
        {state::watch_key(state::Table::allocs_for_node, node_id)},
        turns.callback([this, node_id, number] {
          const auto watch = watches.find(node_id);
          if (watch != watches.end() && watch->second.number == number) answer_watch(node_id);
        }));
  }

  /// What is new since `min_index`; no work for what is not.
  AssignedSet alloc_set(const std::string& node_id, std::uint64_t min_index) {
    const auto snapshot = store->snapshot();
    const auto count = snapshot.alloc_count(node_id);
    AssignedSet set{.index = min_index};
    std::size_t created = 0;
    for (const auto& entry : snapshot.allocs_changed_after(min_index, node_id)) {
      const auto& row = *entry.value();
      created += row.alloc->create_index() > min_index ? 1 : 0;
      set.index = row.alloc->alloc_modify_index();  // ascending
      set.allocs.push_back(row.alloc);
      set.jobs.push_back(row.job);
    }
    const auto before = last_answers.find(node_id);
    const bool forgot = before == last_answers.end() || before->second.index != min_index
                        || before->second.count + created != count
                        || min_index < snapshot.index(state::Table::restore_rows);  // other rows
    if (min_index == 0 || forgot) {
      set.complete = true;
      set.index = std::max({snapshot.index(), min_index, std::uint64_t{1}});
      if (set.allocs.size() < count) take_all(snapshot, node_id, set);
    }
    if (set.complete || set.index > min_index) remember(snapshot, node_id, {set.index, count});
    return set;
  }

  static void take_all(const state::Snapshot& snapshot,
                       const std::string& node_id,
                       AssignedSet& set) {
    set.allocs.clear();
    set.jobs.clear();
    for (const auto& entry : snapshot.allocs_by_node(node_id)) {
      set.allocs.push_back(entry.value()->alloc);
      set.jobs.push_back(entry.value()->job);
    }
  }

  void remember(const state::Snapshot& snapshot, const std::string& node_id, LastAnswer answer) {
    last_answers[node_id] = answer;
    if (last_answers.size() > snapshot.nodes_map().size() + most_strangers)
      std::erase_if(last_answers, [&](const auto& entry) {
        return entry.first != node_id && !snapshot.node(entry.first);
      });
  }

  // -- what an allocation replaces ---------------------------------------------------------------

  actor::Answer<door::Reply> await_previous(const door::Ask& msg) {
    const auto alloc_id = copy(msg->getAwaitPrevious());
    end_wait(alloc_id, previous_of({}));  // The older question is void.
    PreviousAllocWait wait{.number = next_watch++, .node_id = msg.subject()};
    auto found = NOMAD_TRY(cluster::previous_alloc_of(store->snapshot(), wait.node_id, alloc_id));
    if (!found.ended) {
      wait.subscription = subscribe_to(found.id, alloc_id, wait.number);
      found = NOMAD_TRY(cluster::previous_alloc_of(store->snapshot(), wait.node_id, alloc_id));
    }
    if (lease && !lease->holds()) return no_leader();
    if (found.ended) return previous_of(found);
    wait.end
        = actor::send_self_after(self, msg.max_wait(), PreviousAllocOver{alloc_id, wait.number});
    wait.promise = self->make_response_promise<door::Reply>();
    auto promise = wait.promise;
    previous_allocs.emplace(alloc_id, std::move(wait));
    return promise;
  }

  static door::Reply previous_of(const cluster::PreviousAlloc& found) {
    return door::make_reply(0, [&](auto& reply) {
      auto previous = reply.initPrevious();
      previous.setEnded(found.ended);
      previous.setHttpAddress(text(found.http_address));
      previous.setTls(found.tls);
      previous.setMigrateToken(text(found.migrate_token));
    });
  }

  state::Watches::Subscription subscribe_to(const std::string& previous,
                                            const std::string& alloc_id,
                                            std::uint64_t number) {
    return store->watches().subscribe(
        {state::watch_key(state::Table::allocs, previous)},
        turns.callback([this, alloc_id, number] { previous_alloc_due(alloc_id, number, false); }));
  }

  void end_wait(const std::string& alloc_id, Result<door::Reply> with) {
    auto wait = previous_allocs.extract(alloc_id);
    if (wait.empty()) return;
    self->cancel(wait.mapped().end);
    actor::answer(wait.mapped().promise, std::move(with));
  }

  void previous_alloc_due(const std::string& alloc_id, std::uint64_t number, bool is_over) {
    const auto wait = previous_allocs.find(alloc_id);
    if (wait == previous_allocs.end() || wait->second.number != number) return;
    const auto node_id = wait->second.node_id;
    auto look = [&] { return cluster::previous_alloc_of(store->snapshot(), node_id, alloc_id); };
    auto found = look();
    if (found && !found->ended && !is_over) {  // Watches tell once.
      wait->second.subscription = subscribe_to(found->id, alloc_id, number);
      found = look();
      if (found && !found->ended) return;
    }
    if (!found) return end_wait(alloc_id, found.error());
    if (lease && !lease->holds()) return end_wait(alloc_id, no_leader());
    end_wait(alloc_id, previous_of(*found));
  }

  // -- what nodes report -------------------------------------------------------------------------

  actor::Answer<door::Reply> report(const door::Ask& msg) {
    const auto snapshot = store->snapshot();
    Report report{.report = {.number = msg->getUpdateAllocs(),
                             .allocs = NOMAD_TRY(door::objects_of<schema::Allocation>(msg.rows))},
                  .promise = {}};
    auto& allocs = report.report.allocs;
    const auto node_id = NOMAD_TRY(cluster::check_reporter(snapshot, allocs, msg.subject()));
    std::erase_if(allocs, [&](const Object<schema::Allocation>& alloc) {
      const bool foreign = cluster::is_foreign(snapshot, *alloc, node_id);
      if (foreign)
        log::warn("node", "passed over a report about another node's allocation",
                  {{"node", node_id}, {"alloc", alloc->id()}});
      return foreign;
    });
    if (allocs.empty()) return door::done(snapshot.index());
    report.promise = self->make_response_promise<door::Reply>();
    auto promise = report.promise;
    reports.push_back(std::move(report));
    reports_hurry = reports_hurry || !msg->getMayWait();
    write_reports();
    return promise;
  }

  actor::Answer<door::Reply> note_events(const door::Ask& msg) {
    const auto snapshot = store->snapshot();
    const auto decision = NOMAD_TRY(cluster::decide_node_events(
        snapshot, msg.subject(), NOMAD_TRY(door::objects_of<schema::NodeEvent>(msg.rows)),
        unix_now()));
    if (!decision.command) return door::done(snapshot.index());
    auto promise = self->make_response_promise<door::Reply>();
    write(decision.command,
          [promise](const Result<Committed>& written) { answer_written(promise, written); });
    return promise;
  }

  // -- a node that leaves -----------------------------------------------------------------------

  static door::Reply drain_state(std::uint64_t index, bool draining) {
    return door::make_reply(index, [&](auto& reply) { reply.initDrain().setDraining(draining); });
  }

  actor::Answer<door::Reply> drain(const door::Ask& msg) {
    const auto snapshot = store->snapshot();
    if (lease && !lease->holds()) return no_leader();
    const auto order = msg->getDrain();
    if (!order.getStart()) {
      const auto node = snapshot.node(msg.subject());
      if (!node) return Error{Errc::not_found, "node not found"};
      return drain_state(snapshot.index(), node->hasDrainStrategy());
    }
    const auto decision = NOMAD_TRY(cluster::decide_own_drain(
        snapshot, msg.subject(), {order.getDeadline(), order.getIgnoreSystemJobs()}, seed()));
    auto promise = self->make_response_promise<door::Reply>();
    write(decision.command, [promise](const Result<Committed>& written) {
      if (written)
        promise.deliver(drain_state(written->index, true));
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
    std::vector<cluster::NodeReport> all;
    for (auto& each : *batch)
      all.push_back(std::move(each.report));
    const auto decision = cluster::decide_reports(store->snapshot(), all, seed());
    write(decision.command, [this, batch](const Result<Committed>& written) {
      writing_reports = false;
      for (const auto& each : *batch)
        answer_written(each.promise, written);
      write_reports();
    });
  }

  // -- what nodes offer --------------------------------------------------------------------------

  actor::Answer<door::Reply> add_services(const door::Ask& msg) {
    const auto snapshot = store->snapshot();
    return change_services(snapshot,
                           cluster::check_registrations(
                               snapshot, msg.subject(),
                               NOMAD_TRY(door::objects_of<schema::ServiceRegistration>(msg.rows))));
  }

  actor::Answer<door::Reply> remove_services(const door::Ask& msg) {
    const auto snapshot = store->snapshot();
    const auto order = msg->getDeregisterServices();
    return change_services(
        snapshot, cluster::check_deregistration(snapshot, msg.subject(), copy(order.getAllocId()),
                                                texts_of(order.getIds())));
  }

  actor::Answer<door::Reply> change_services(const state::Snapshot& snapshot,
                                             Result<cluster::ServiceChange> change) {
    // Asked after the snapshot was taken: one of a leader that has yet to apply what it took over
    // knows neither the allocation nor what is to go, and its word is final to whoever asks.
    if (lease && !lease->holds()) return no_leader();
    if (!change) return change.error();
    if (change->empty()) return door::done(snapshot.index());
    NOMAD_TRY(service_writes.check_room(*change));
    auto promise = self->make_response_promise<door::Reply>();
    service_writes.add(std::move(*change), promise);
    return promise;
  }

  actor::Answer<door::Reply> answer(const door::Ask& msg) {
    switch (msg->which()) {
      case door::Question::WATCH_ALLOCS:
        return watch(msg);
      case door::Question::UPDATE_ALLOCS:
        return report(msg);
      case door::Question::REGISTER_SERVICES:
        return add_services(msg);
      case door::Question::DEREGISTER_SERVICES:
        return remove_services(msg);
      case door::Question::EMIT_EVENTS:
        return note_events(msg);
      case door::Question::DRAIN:
        return drain(msg);
      case door::Question::AWAIT_PREVIOUS:
        return await_previous(msg);
      default:
        return Error{Errc::internal, "that question is not the node endpoint's"};
    }
  }
};

NodeEndpointSelf::behavior_type node_endpoint_actor(NodeEndpointState::Self self,
                                                    std::shared_ptr<state::Store> store,
                                                    raft::Proposer proposer,
                                                    std::shared_ptr<const raft::LeaderLease> lease,
                                                    std::uint64_t random_seed) {
  auto& state = self->state;
  state.self = self;
  state.turns = actor::turns_of(self);
  state.store = std::move(store);
  state.writes.emplace(self, std::move(proposer), access::own_work("node_endpoint"));
  state.lease = std::move(lease);
  state.random = Random{self->seed(random_seed)};

  return {
      [self](const door::Ask& msg) { return self->state.answer(msg); },
      [self](const PreviousAllocOver& msg) {
        self->state.previous_alloc_due(msg.alloc_id, msg.wait, true);
      },
      [self](ReportsDue) {
        auto& state = self->state;
        state.reports_timed = false;
        state.reports_hurry = !state.reports.empty();
        state.write_reports();
      },
      [self](const WatchOver& msg) {
        const auto watch = self->state.watches.find(msg.node_id);
        if (watch != self->state.watches.end() && watch->second.number == msg.watch)
          self->state.end_watch(msg.node_id);
      },
  };
}

}  // namespace

NodeDoor spawn_node_endpoint(const actor::Owner& owner,
                             std::shared_ptr<state::Store> store,
                             raft::Proposer proposer,
                             std::shared_ptr<const raft::LeaderLease> lease,
                             std::uint64_t random_seed) {
  return actor::spawn<actor::Policy::restart>(owner, node_endpoint_actor, std::move(store),
                                              std::move(proposer), std::move(lease), random_seed);
}

}  // namespace nomad::server
