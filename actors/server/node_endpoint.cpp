#include "actors/server/node_endpoint.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "actors/core/supervise.hpp"
#include "actors/server/writes.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/node_commands.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using client::server_link::AllocSet;
using client::server_link::Heartbeat;
using client::server_link::Lease;
using client::server_link::Registered;
using client::server_link::RegisterNode;
using client::server_link::UpdateAllocs;
using client::server_link::Updated;
using client::server_link::WatchAllocs;
using server_api::NodeChanged;

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

/// Reports that may wait have waited.
struct ReportsDue {
  using is_message = void;
};

using NodeEndpointSelf = actor::WithInternal<NodeEndpoint,
                                             void(NodeTouched),
                                             void(WatchOver),
                                             void(ReportsDue),
                                             void(WriteDone)>;

/// What no ClientStatus depends on is written this often at most, unless with something else.
constexpr auto report_patience = 50ms;

constexpr auto tracker_timeout = 10s;
constexpr std::size_t most_turns = 8;  ///< That wait for one node; heartbeats are seconds apart.

template <class Reply>
void refuse(actor::Promise<Reply>& promise, const Error& error) {
  promise.deliver(error);
}

/// A node's question that is held until there is something to answer.
struct Watch {
  std::uint64_t number = 0;
  std::uint64_t min_index = 0;
  actor::Promise<AllocSet> promise;
  state::Watches::Subscription subscription;
};

/// Something that changes a node's status; it calls what it is given when that is done.
using Turn = std::function<void(std::function<void()> done)>;

/// What a node was told last: from this the endpoint sees whether something was forgotten.
struct Told {
  std::uint64_t index = 0;
  std::size_t count = 0;
};

struct NodeEndpointState {
  static constexpr const char* name = "node_endpoint";

  using Self = NodeEndpointSelf::stateful_pointer<NodeEndpointState>;

  struct Report {
    std::vector<Object<schema::Allocation>> allocs;
    actor::Promise<Updated> promise;
  };

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<Writes> writes;
  HeartbeatTracker tracker;
  std::shared_ptr<const raft::LeaderLease> lease;  ///< None: always ours.
  Random random{0};
  std::unordered_map<std::string, Watch> watches;  ///< By node.
  std::unordered_map<std::string, Told> told;      ///< By node.
  /// By node whose status is being changed: what waits until that is done.
  std::unordered_map<std::string, std::deque<Turn>> turns;
  std::uint64_t next_watch = 1;
  std::vector<Report> reports;  ///< That wait, for the entry being written or for others.
  bool writing_reports = false;
  bool reports_hurry = false;
  bool reports_timed = false;  ///< ReportsDue comes.

  cluster::EvalSeed seed() { return {unix_now(), &random}; }

  void write(const Object<schema::Command>& command, Writes::Then then) {
    writes->propose(NodeEndpointSelf{self}, command, std::move(then));
  }

  // -- registration and heartbeats ---------------------------------------------------------------

  /// One change of a node's status at a time: the next is decided on what the last one left. False
  /// when so many wait already that the node does not wait for their answers.
  bool in_turn(const std::string& id, Turn turn) {
    const auto [entry, is_first] = turns.try_emplace(id);
    if (!is_first && entry->second.size() >= most_turns) return false;
    if (is_first)
      turn([this, id] { next_turn(id); });
    else
      entry->second.push_back(std::move(turn));
    return true;
  }

  void next_turn(const std::string& id) {
    const auto entry = turns.find(id);
    if (entry->second.empty()) {
      turns.erase(entry);
      return;
    }
    const auto turn = std::move(entry->second.front());
    entry->second.pop_front();
    turn([this, id] { next_turn(id); });
  }

  actor::Answer<Registered> register_node(const RegisterNode& msg) {
    auto decision = cluster::decide_node_register(store->snapshot(), msg.node, seed());
    if (!decision) {
      log::warn("node_endpoint", "registration of node {} refused: {}",
                short_id(copy(msg.node->getId())), decision.error().what);
      return decision.error();
    }
    auto promise = self->make_response_promise<Registered>();
    const auto id = copy(msg.node->getId());
    write(decision->command, [this, promise, id, changed = decision->evaluate_after](
                                 Result<Committed> written) mutable {
      if (!written) return refuse(promise, written.error());
      if (changed) evaluate(id);
      renew(id, [promise, index = written->index](Result<heartbeat::Lease> lease) mutable {
        if (!lease) return refuse(promise, lease.error());
        promise.deliver(Registered{index, lease->ttl});
      });
    });
    return promise;
  }

  /// A ready node can do something else than before.
  void evaluate(const std::string& id) {
    const auto decision = cluster::decide_node_evaluate(store->snapshot(), id, seed());
    if (!decision || !decision->command) return;
    write(decision->command, [id](const Result<Committed>& written) {
      if (!written)
        log::warn("node_endpoint", "jobs of node {} are not evaluated: {}", short_id(id),
                  written.error().what);
    });
  }

  actor::Answer<Lease> beat(const Heartbeat& msg) {
    auto promise = self->make_response_promise<Lease>();
    advance(msg.node_id, [this, promise, id = msg.node_id](const Result<>& stepped) mutable {
      if (!stepped) return refuse(promise, stepped.error());
      renew(id, [this, promise, id](Result<heartbeat::Lease> lease) mutable {
        if (!lease) return refuse(promise, lease.error());
        const bool awaits = cluster::awaits_reports(store->snapshot(), id);
        promise.deliver(Lease{lease->ttl, unix_now(), awaits});
      });
    });
    return promise;
  }

  /// Takes the node a step towards `ready`, if it is not.
  void advance(const std::string& id, std::function<void(const Result<>&)> then) {
    const auto step = [this, id, then](std::function<void()> done) {
      auto decision = cluster::decide_heartbeat(store->snapshot(), id, seed());
      if (!decision || !decision->command) {
        done();
        return then(decision ? Result<>{} : Result<>{decision.error()});
      }
      write(decision->command, [then, done = std::move(done)](const Result<Committed>& written) {
        done();
        then(written ? Result<>{} : Result<>{written.error()});
      });
    };
    if (!in_turn(id, step)) then(Error{Errc::overloaded, "too many heartbeats of the node wait"});
  }

  void renew(const std::string& id, std::function<void(Result<heartbeat::Lease>)> then) {
    self->request(tracker, tracker_timeout, heartbeat::Renew{id})
        .then([then](const heartbeat::Lease& lease) { then(lease); },
              [then](const Error& err) { then(err); });
  }

  void missed(const std::string& id) {
    const auto look_again = [this, id] { renew(id, [](const Result<heartbeat::Lease>&) {}); };
    const bool queued = in_turn(id, [this, id, look_again](std::function<void()> done) {
      const auto decision = cluster::decide_missed_heartbeat(store->snapshot(), id, seed());
      if (decision.look_again) look_again();
      if (!decision.command) return done();
      log::warn("node_endpoint", "node {} missed its heartbeat", short_id(id));
      write(decision.command, [id, look_again, done](const Result<Committed>& written) {
        done();
        if (written) return;
        log::error("node_endpoint", "node {} could not be marked: {}", short_id(id),
                   written.error().what);
        look_again();
      });
    });
    if (!queued) look_again();
  }

  // -- what a node should run --------------------------------------------------------------------

  actor::Answer<AllocSet> watch(const WatchAllocs& msg) {
    end_watch(msg.node_id);  // a node asks one question at a time; the older one is void
    auto& watch = watches[msg.node_id];
    watch.number = next_watch++;
    watch.min_index = msg.min_index;
    watch.promise = self->make_response_promise<AllocSet>();
    auto promise = watch.promise;
    const auto number = watch.number;
    if (!answer(msg.node_id))
      actor::send_self_after(self, msg.max_wait, WatchOver{msg.node_id, number});
    return promise;
  }

  void end_watch(const std::string& node_id) {
    auto entry = watches.extract(node_id);
    if (entry.empty()) return;
    entry.mapped().promise.deliver(AllocSet{entry.mapped().min_index, false, {}});
  }

  /// Answers the node's question if there is something new, else subscribes.
  bool answer(const std::string& node_id) {
    auto& watch = watches.at(node_id);
    watch.subscription = subscribe(node_id, watch.number);
    auto set = alloc_set(node_id, watch.min_index);
    if (set.index <= watch.min_index) return false;
    auto promise = watch.promise;
    watches.erase(node_id);
    if (lease && !lease->holds()) {  // asked after the snapshot was taken
      told.erase(node_id);
      refuse(promise, {Errc::unavailable, "No cluster leader"});
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

  AllocSet alloc_set(const std::string& node_id, std::uint64_t min_index) {
    const auto snapshot = store->snapshot();
    AllocSet set;
    std::size_t count = 0;
    std::size_t created = 0;
    std::uint64_t newest = 0;
    for (const auto& entry : snapshot.allocs_by_node(node_id)) {
      const auto& row = *entry.value();
      ++count;
      created += row.alloc->getCreateIndex() > min_index ? 1 : 0;
      newest = std::max<std::uint64_t>(newest, row.alloc->getAllocModifyIndex());
      if (row.alloc->getAllocModifyIndex() > min_index) set.allocs.push_back({row.alloc, row.job});
    }
    const auto before = told.find(node_id);
    const bool forgot = before == told.end() || before->second.index != min_index
                        || before->second.count + created != count
                        || min_index < snapshot.index(state::Table::restore_rows);  // other rows
    set.complete = min_index == 0 || forgot;
    if (set.complete && min_index > 0) {
      set.allocs.clear();
      for (const auto& entry : snapshot.allocs_by_node(node_id))
        set.allocs.push_back({entry.value()->alloc, entry.value()->job});
    }
    set.index = set.complete ? std::max<std::uint64_t>(snapshot.index(), min_index + 1) : newest;
    if (set.index > min_index) told[node_id] = {set.index, count};
    return set;
  }

  // -- what nodes report -------------------------------------------------------------------------

  actor::Answer<Updated> report(const UpdateAllocs& msg) {
    const auto snapshot = store->snapshot();
    const auto node_id = cluster::check_reporter(snapshot, msg.allocs, msg.node_id);
    if (!node_id) return node_id.error();
    Report report{.allocs = msg.allocs, .promise = {}};
    std::erase_if(report.allocs, [&](const Object<schema::Allocation>& alloc) {
      const bool foreign = cluster::is_foreign(snapshot, *alloc, *node_id);
      if (foreign)
        log::warn("node_endpoint", "node {} reports allocation {} of another node; passed over",
                  short_id(*node_id), short_id(copy(alloc->getId())));
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

  // -- what operators change ---------------------------------------------------------------------

  actor::Answer<NodeChanged> change(Result<cluster::NodeDecision> decision,
                                    const std::string& node_id) {
    if (!decision) return decision.error();
    if (!decision->command) return NodeChanged{};
    auto promise = self->make_response_promise<NodeChanged>();
    write(decision->command,
          [this, promise, node_id, ids = decision->eval_ids](Result<Committed> written) mutable {
            if (!written) return refuse(promise, written.error());
            const auto node = store->snapshot().node(node_id);
            promise.deliver(NodeChanged{ids, ids.empty() ? 0 : written->index,
                                        node ? node->getModifyIndex() : 0, written->index});
          });
    return promise;
  }
};

NodeEndpointSelf::behavior_type node_endpoint_actor(NodeEndpointState::Self self,
                                                    std::shared_ptr<state::Store> store,
                                                    raft::Proposer proposer,
                                                    std::uint64_t random_seed) {
  auto& state = self->state;
  state.self = self;
  state.store = std::move(store);
  state.writes.emplace(std::move(proposer));
  state.random = Random{random_seed};

  return {
      [self](const RegisterNode& msg) { return self->state.register_node(msg); },
      [self](const Heartbeat& msg) { return self->state.beat(msg); },
      [self](const WatchAllocs& msg) { return self->state.watch(msg); },
      [self](const UpdateAllocs& msg) { return self->state.report(msg); },
      [self](const heartbeat::Missed& msg) { self->state.missed(msg.node); },
      [self](const node_endpoint::UseTracker& msg) {
        self->state.tracker = msg.tracker;
        self->state.lease = msg.lease;
      },
      [self](const server_api::SetNodeEligibility& msg) {
        auto& state = self->state;
        return state.change(cluster::decide_eligibility(state.store->snapshot(), msg.node_id,
                                                        msg.eligible, state.seed()),
                            msg.node_id);
      },
      [self](const server_api::EvaluateNode& msg) {
        auto& state = self->state;
        return state.change(
            cluster::decide_node_evaluate(state.store->snapshot(), msg.node_id, state.seed()),
            msg.node_id);
      },
      [self](const server_api::PurgeNode& msg) {
        auto& state = self->state;
        return state.change(
            cluster::decide_node_purge(state.store->snapshot(), msg.node_id, state.seed()),
            msg.node_id);
      },
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

NodeEndpoint spawn_node_endpoint(actor::System& system,
                                 std::shared_ptr<state::Store> store,
                                 raft::Proposer proposer,
                                 std::uint64_t random_seed) {
  return actor::spawn(system, node_endpoint_actor, std::move(store), std::move(proposer),
                      random_seed);
}

}  // namespace nomad::server
