#include "actors/server/nodes/heartbeat_tracker.hpp"

#include <deque>
#include <functional>
#include <unordered_map>

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/node_commands.hpp"

namespace nomad::server {
namespace {

/// The timer that makes the tracker look for expired leases, while there are any.
struct Scan {
  using is_message = void;
};

using TrackerSelf = actor::WithInternal<HeartbeatTracker, void(Scan)>;

constexpr std::size_t most_turns = 8;  ///< That wait for one node; heartbeats are seconds apart.

/// Something that changes a node's status; it calls what it is given when that is done.
using Turn = std::function<void(std::function<void()> done)>;

struct TrackerState {
  static constexpr const char* name = "heartbeat_tracker";

  using Self = TrackerSelf::stateful_pointer<TrackerState>;

  Self self = nullptr;
  std::shared_ptr<state::Store> store;
  std::optional<ActorProposer> writes;
  HeartbeatOptions options;
  cluster::LeaseTable leases;
  Random random{0};
  /// By node whose status is being changed: what waits until that is done.
  std::unordered_map<std::string, std::deque<Turn>> turns;
  bool settled = true;  ///< What it had under way when it began anew is decided.
  bool told_to_lead = false;
  bool leads = false;  ///< Both.
  bool scanning = false;

  cluster::EvalSeed seed() { return {unix_now(), &random}; }

  void write(const Object<schema::Command>& command, ActorProposer::Then then) {
    writes->propose(command, std::move(then));
  }

  // -- leases ------------------------------------------------------------------------------------

  /// A node's status that was being changed is changed, or not, before the next turn of it.
  void settle() {
    settled = false;
    writes->when_settled([this] {
      settled = true;
      lead(told_to_lead);
    });
  }

  /// A new leader cannot know when each client was last heard; all get a long lease, also those
  /// that are away and may come back: it ends when they have been away too long.
  void lead(bool leads_now) {
    leases = {};
    told_to_lead = leads_now;
    leads = told_to_lead && settled;
    show_gauges();
    if (!leads) return;
    const auto deadline = self->now() + options.leases.failover_ttl;
    const auto snapshot = store->snapshot();
    for (const auto& entry : snapshot.nodes())
      if (entry.value()->getStatus() != schema::NodeStatus::DOWN)
        leases.renew(copy(entry.value()->getId()), deadline);
    keep_scanning();
    propose(cluster::decide_forgotten(snapshot, seed()));
  }

  Result<std::chrono::milliseconds> renew(const std::string& id) {
    if (!leads) return no_leader();
    const auto ttl = cluster::lease_ttl(leases.size(), options.leases, random);
    leases.renew(id, self->now() + ttl + options.leases.grace);
    keep_scanning();
    return ttl;
  }

  void keep_scanning() {
    if (scanning || leases.size() == 0) return;
    scanning = true;
    actor::send_self_after(self, options.scan_interval, Scan{});
  }

  void scan() {
    scanning = false;
    for (const auto& node : leases.expire(self->now()))
      missed(node);
    show_gauges();
    keep_scanning();
  }

  void show_gauges() const {
    options.metrics->show("heartbeat_tracker",
                          {{"heartbeat.active", static_cast<double>(leases.size())}});
  }

  // -- turns -------------------------------------------------------------------------------------

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

  // -- what nodes and their silence change -------------------------------------------------------

  actor::Answer<door::Reply> answer(const door::Ask& msg) {
    if (!leads) return no_leader();
    switch (msg->which()) {
      case door::Question::REGISTER:
        return register_node(msg);
      case door::Question::HEARTBEAT:
        return beat(msg.subject());
      default:
        return Error{Errc::internal, "that question is not the heartbeat tracker's"};
    }
  }

  actor::Answer<door::Reply> register_node(const door::Ask& msg) {
    if (msg.rows.size() != 1) return Error{Errc::invalid_argument, "a node's record is expected"};
    const auto node = NOMAD_TRY(msg.rows.front().as<schema::Node>());
    const auto id = copy(node->getId());
    if (id != msg.subject())
      return Error{Errc::invalid_argument, "the node's record is of another node"};
    auto decision = cluster::decide_node_register(store->snapshot(), node, seed());
    if (!decision) {
      log::warn("heartbeat", "refused the registration of a node",
                {{"node", id}, {"error", decision.error()}});
      return decision.error();
    }
    auto promise = self->make_response_promise<door::Reply>();
    write(decision->command, [this, promise, id, changed = decision->evaluate_after](
                                 Result<Committed> written) mutable {
      if (!written) return promise.deliver(why_not_registered(written.error()));
      if (changed) evaluate(id);
      const auto ttl = renew(id);
      if (!ttl) return promise.deliver(ttl.error());
      promise.deliver(lease(written->index, *ttl, 0, false));
    });
    return promise;
  }

  /// `io` for want of room: who asks again at once finds it as soon as it is there, and disturbs
  /// nobody. Beside too much work he would.
  Error why_not_registered(Error why) const {
    if (why.code == Errc::overloaded && options.lacks_room && options.lacks_room())
      why.code = Errc::io;
    return why;
  }

  /// A ready node can do something else than before.
  void evaluate(const std::string& id) {
    const auto decision = cluster::decide_node_evaluate(
        store->snapshot(), access::Asking::of_cluster("heartbeat_tracker"), id, seed());
    if (decision) propose(*decision);
  }

  /// Writes evaluations, if there are any.
  void propose(const cluster::NodeDecision& decision) {
    if (!decision.command) return;
    write(decision.command, [](const Result<Committed>& written) {
      if (!written)
        log::warn("heartbeat", "the jobs of nodes are not evaluated", {{"error", written.error()}});
    });
  }

  /// `done` is applied: what came to its node meanwhile is evaluated, too.
  void follow_up(const cluster::NodeDecision& done) {
    propose(cluster::decide_latecomers(store->snapshot(), done, seed()));
  }

  /// Of a node that is ready nothing changes but its lease.
  actor::Answer<door::Reply> beat(const std::string& node_id) {
    auto promise = self->make_response_promise<door::Reply>();
    const auto step = [this, id = node_id, promise](std::function<void()> done) mutable {
      auto decision = cluster::decide_heartbeat(store->snapshot(), id, seed());
      if (!decision || !decision->command) {
        done();
        return grant(promise, id, decision ? Result<>{} : Result<>{decision.error()});
      }
      write(decision->command, [this, id, promise, done = std::move(done),
                                step = *decision](const Result<Committed>& written) mutable {
        if (written) follow_up(step);
        done();
        grant(promise, id, written ? Result<>{} : Result<>{written.error()});
      });
    };
    if (!in_turn(node_id, step))
      return Error{Errc::overloaded, "too many heartbeats of the node wait"};
    return promise;
  }

  door::Reply lease(std::uint64_t index,
                    std::chrono::milliseconds ttl,
                    std::int64_t server_time,
                    bool awaits_reports) const {
    return door::make_reply(index, [&](auto& reply) {
      auto lease = reply.initLease();
      lease.setTtlMs(static_cast<std::uint64_t>(ttl.count()));
      lease.setServerTime(server_time);
      lease.setAwaitsReports(awaits_reports);
      if (!options.servers) return;
      const auto servers = options.servers();
      fill_servers(lease.initServers(static_cast<unsigned>(servers.size())), servers);
    });
  }

  void grant(actor::Promise<door::Reply>& promise, const std::string& id, const Result<>& stepped) {
    if (!stepped) return promise.deliver(stepped.error());
    const auto ttl = renew(id);
    if (!ttl) return promise.deliver(ttl.error());
    promise.deliver(lease(0, *ttl, unix_now(), cluster::awaits_reports(store->snapshot(), id)));
  }

  void missed(const std::string& id) {
    const auto look_again = [this, id] { static_cast<void>(renew(id)); };
    const bool queued = in_turn(id, [this, id, look_again](std::function<void()> done) {
      const auto decision = cluster::decide_missed_heartbeat(store->snapshot(), id, seed());
      if (decision.look_again) look_again();
      if (!decision.command) return done();
      log::warn("heartbeat", "the node missed its heartbeat", {{"node", id}});
      const auto begun = self->now();
      write(decision.command,
            [this, id, look_again, done, begun, decision](const Result<Committed>& written) {
              options.metrics->measure("heartbeat.invalidate", self->now() - begun);
              if (written) follow_up(decision);
              done();
              if (written) return;
              log::error("heartbeat", "the node's status could not be changed",
                         {{"node", id}, {"error", written.error()}});
              look_again();
            });
    });
    if (!queued) look_again();
  }
};

TrackerSelf::behavior_type heartbeat_tracker(TrackerState::Self self,
                                             std::shared_ptr<state::Store> store,
                                             raft::Proposer proposer,
                                             HeartbeatOptions options) {
  auto* state = &self->state;
  state->self = self;
  state->store = std::move(store);
  state->writes.emplace(self, std::move(proposer), access::own_work("heartbeat_tracker"));
  state->random = Random{self->seed(options.random_seed)};
  state->options = options;
  if (self->began_again()) state->settle();

  return {
      [state](const door::Ask& msg) { return state->answer(msg); },
      [state](heartbeat::GetCount) { return heartbeat::Count{state->leases.size()}; },
      [state](Lead msg) { state->lead(msg.leads); },
      [state](Scan) { state->scan(); },
  };
}

}  // namespace

HeartbeatTracker spawn_heartbeat_tracker(const actor::Owner& owner,
                                         std::shared_ptr<state::Store> store,
                                         raft::Proposer proposer,
                                         HeartbeatOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, heartbeat_tracker, std::move(store),
                                              std::move(proposer), options);
}

}  // namespace nomad::server
