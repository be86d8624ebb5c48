// SimServer: one server of a simulated cluster: the real actors of a server (Raft node, broker,
// schedulers, plan applier, heartbeats, node and job endpoints…) over a simulated disk and network.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/agent/cluster_part.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/raft/node_parts.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/server/server.hpp"
#include "actors/server/writer.hpp"
#include "runtime/identity/verify.hpp"
#include "runtime/security/keyring.hpp"
#include "test/mistakes/mistake.hpp"
#include "test/simulation/sim_disk.hpp"
#include "test/simulation/sim_exchange.hpp"
#include "test/simulation/sim_network.hpp"
#include "test/simulation/sim_rpc.hpp"

namespace nomad::test {

/// A command as the log holds it.
inline schema::Command::Reader entry_of(const raft::Bytes& payload) {
  return capnp::readMessageUnchecked<schema::Command>(
      reinterpret_cast<const capnp::word*>(payload.data()));
}

/// The same without its guard, if it has one.
inline schema::Command::Reader command_of(const raft::Bytes& payload) {
  const auto entry = entry_of(payload);
  return entry.isGuarded() ? entry.getGuarded().getCommand() : entry;
}

/// What every server's state machine is compared with. Owned by the world.
class StateWitness {
public:
  /// `server` has applied this entry; the first one who does decides what it is.
  void applied(const std::string& server, const raft::Entry& entry);

  /// `server` has this state at `index`.
  void state(const std::string& server, raft::Index index, std::uint64_t digest);

  /// What the command at `index` was, if somebody has applied it.
  const raft::Bytes* command(raft::Index index) const;

  /// Calls `visit(index, command)` for all of them, in order.
  template <class Visit>
  void each_command(Visit visit) const {
    for (const auto& [index, known] : commands_)
      visit(index, known.payload);
  }

  /// The same, of those behind `index`.
  template <class Visit>
  void each_command_after(raft::Index index, Visit visit) const {
    for (auto next = commands_.upper_bound(index); next != commands_.end(); ++next)
      visit(next->first, next->second.payload);
  }

  raft::Index last() const { return commands_.empty() ? 0 : commands_.rbegin()->first; }

  std::uint64_t states_compared() const { return states_compared_; }

  std::function<void(const std::string&)> violated;

private:
  struct Known {
    raft::Term term;
    raft::Bytes payload;
  };

  std::map<raft::Index, Known> commands_;
  std::map<raft::Index, std::pair<std::uint64_t, std::string>> states_;
  std::uint64_t states_compared_ = 0;
};

/// A number over everything that a snapshot of the state holds.
std::uint64_t digest_of(const raft::Fsm& fsm);

/// Where servers and nodes reach the server of that id.
inline std::string rpc_address_of(const std::string& id) {
  return id + ":4647";
}

struct SimServerOptions {
  std::string id;
  std::vector<std::string> join;  ///< Addresses of servers that it joins at each start.
  double clock_rate = 1;          ///< Of its monotonic clock.
  std::uint64_t seed = 0;
};

class SimServer {
public:
  using Machine = SimSystem::Machine;

  SimServer(SimSystem& system,
            SimNetwork& network,
            SimRpc& rpc,
            StateWitness& witness,
            DiskCounts& disk_counts,
            SimServerOptions options);

  const std::string& id() const { return options_.id; }

  Machine machine() const { return machine_; }

  SimDisk& disk() { return disk_; }

  /// Other servers by their ids, for the carrier. Set by the world.
  std::function<SimServer*(const std::string&)> find_server;

  /// Told of every change of leadership.
  std::function<void(SimServer&, const raft::LeadershipChanged&)> on_leadership;

  /// The machine is on: starts the actors.
  void start();

  /// The power is gone.
  void crash();

  bool is_on() const { return system_.is_on(machine_); }

  /// Why the server of its present life has ended by itself.
  const std::optional<Error>& failure() const { return failure_; }

  // The rest only while it is on.
  const raft::RaftNode& raft() const { return live_->raft; }

  const std::shared_ptr<state::Store>& store() const { return live_->store; }

  /// Serves a request of the HTTP API, as code of this machine, with the promises of `ask`.
  void serve_api(net::Request request, const SimExchange::Answered& answered) {
    const auto answer
        = [this, life = system_.life(machine_), answered](const net::Response& response) {
            if (system_.life(machine_) == life) answered(response);
          };
    net::serve(live_->routes,
               net::Responder{std::make_shared<SimExchange>(std::move(request), answer)});
  }

  const server::Membership& membership() const { return live_->cluster->membership(); }

  /// Whether the others have said that they go on without this server for ever.
  bool is_told_removed() const { return live_->cluster->members()->is_removed(); }

  /// Whose identity this server takes a token for; nothing: it leaves that to the leader.
  std::optional<Result<access::Grant>> who_is(std::string_view token) const {
    return system_.on(machine_, [&] { return live_->identities.here(token); });
  }

  security::Keyring& keyring() const { return *live_->keyring; }

  raft::LeaderView::Known leader() const { return live_->leader->known(); }

  /// Whether reads may be answered from the newest snapshot that was taken before.
  bool lease_holds() const {
    return mistake == Mistake::read_stale
           || system_.on(machine_, [this] { return live_->lease->holds(); });
  }

  /// Asks one of its actors; the answer comes at most once, as code of this machine. Silence is
  /// that of a machine that has died.
  template <class Reply, class Handle, class Request>
  void ask(const Handle& to, const Request& request, std::function<void(Result<Reply>)> answer) {
    const auto still_lives
        = [this, life = system_.life(machine_)] { return system_.life(machine_) == life; };
    actor::spawn(
        system_.system(),
        [to, request, answer, still_lives](actor::Any::pointer self) -> actor::Any::behavior_type {
          self->request(to, actor::infinite, request)
              .then(
                  [self, answer, still_lives](Reply& reply) {
                    if (still_lives()) answer(std::move(reply));
                    self->quit();
                  },
                  [self, answer, still_lives](const Error& err) {
                    if (still_lives()) answer(err);
                    self->quit();
                  });
          return {};
        });
  }

  /// Writes as the HTTP API does, with the promises of `ask`.
  template <class Decide>
  void write(const Decide& decide,
             std::function<void(Result<server::Written<server::DecidedBy<const Decide>>>)> answer) {
    live_->writer->write(decide, Turns::here(),
                         [this, life = system_.life(machine_), answer](const auto& done) {
                           if (system_.life(machine_) == life) answer(done);
                         });
  }

  void write_sealed(const Object<schema::Command>& command,
                    const std::function<void(Result<server::SealedWritten>)>& answer) {
    live_->writer->propose_raw(
        access::own_work("simulation"), command, Turns::here(),
        [this, life = system_.life(machine_), answer](const Result<raft::Applied>& done) {
          if (system_.life(machine_) == life) answer(server::to_sealed(done));
        });
  }

  std::uint64_t digest() const { return digest_of(*live_->fsm); }

private:
  /// What a life consists of. A cycle, until its API is stopped as an agent stops it: the requests
  /// that others pass on are served with the routes, which hold the API, which holds them.
  struct Live {
    Live() = default;
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;
    ~Live();

    std::shared_ptr<state::Store> store;
    std::shared_ptr<raft::StateFsm> fsm;
    std::shared_ptr<raft::LeaderLease> lease;
    std::shared_ptr<raft::LeaderView> leader;
    std::shared_ptr<security::Keyring> keyring;
    identity::RsaKeyOf rsa_keys;
    access::Lookup identities;
    std::optional<raft::RaftInbox> inbox;
    server::Server server;
    raft::RaftNode raft;
    std::optional<agent::ClusterPart> cluster;
    api::RemoteRequests requests;
    std::shared_ptr<api::Context> api;
    net::HttpRouter routes;
    std::optional<server::Writer> writer;
  };

  void start_cluster();
  raft::Carrier make_carrier();
  raft::Proposer start_raft(const raft::LeadershipListener& listener);
  raft::LeadershipListener spawn_listener();
  void start_duties(const raft::Proposer& proposer);
  void open_keyring();
  void start_api();

  SimSystem& system_;
  SimNetwork& network_;
  SimRpc& rpc_;
  StateWitness& witness_;
  SimServerOptions options_;
  Machine machine_;
  SimDisk disk_;
  Random random_;
  std::unique_ptr<Live> live_;
  std::optional<Error> failure_;
};

}  // namespace nomad::test
